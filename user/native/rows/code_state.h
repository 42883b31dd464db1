/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * code_state.h - what is known about the stack between two instructions of a function: where the
 * CFA is, and where the caller's rbp and rbx are. After rsp was aligned, the CFA is found through a
 * copy of its earlier value.
 *
 * Must hold: what the preceding instructions do not prove is LOST, or the function is rejected.
 */
#ifndef KRAIT_NATIVE_ROWS_CODE_STATE_H
#define KRAIT_NATIVE_ROWS_CODE_STATE_H

#include <linux/types.h>
#include <stdbool.h>

#include "native/rows/x86_insn.h"

/* Where the caller's value of a register is. */
enum code_place {
	IN_REGISTER,
	SAVED,
	/* relative to rsp when it was aligned: the distance from there to the CFA is unknown */
	SAVED_BELOW,
	LOST
};

struct code_kept {
	__u8 place; /* enum code_place */
	__s32 at; /* SAVED: from the CFA, SAVED_BELOW: from there; negative: below */
};

/* A register that was set to a copy of rsp. */
struct code_copy {
	bool is; /* it still is a copy */
	__s32 depth; /* CFA - its value */
};

struct code_state {
	__s32 depth; /* CFA - rsp */
	struct code_copy fp, base; /* rbp, rbx */
	/*
	 * register that gives the CFA: rsp, or a copy of it in rbp or rbx if rsp's position is
	 * unknown
	 */
	__u8 by;
	__s32 below; /* if not rsp: how far rsp is below its position when it was aligned */
	struct code_kept rbp, rbx;
};

#define CODE_STATE_AT_ENTRY                                                                        \
	{                                                                                          \
		.depth = 8, .by = X86_RSP                                                          \
	}

bool code_state_same(const struct code_state *a, const struct code_state *b);
/* Is the state as at the call? Then a jump goes to another function. */
bool code_state_is_left(const struct code_state *s);

/* The register that gives the CFA has been overwritten. */
bool code_state_is_lost(const struct code_state *s);
/* CFA minus the register that gives it. */
__s32 code_state_cfa(const struct code_state *s);

/* reg now has another value. */
void code_state_overwrite(struct code_state *s, __u8 reg);
/*
 * Stores reg to, or loads it from, [rsp + value]. Loading it from where it was saved restores the
 * caller's value.
 */
void code_state_store(struct code_state *s, __u8 reg, __s64 value);
void code_state_load(struct code_state *s, __u8 reg, __s64 value);
/* reg, which must be rbp or rbx, = rsp. */
void code_state_copy_sp(struct code_state *s, __u8 reg);
/*
 * rsp = rsp + value; rsp = reg + value; rsp is aligned; reg is popped. False: its position is then
 * unknown.
 */
bool code_state_move_sp(struct code_state *s, __s64 value);
bool code_state_sp_from(struct code_state *s, __u8 reg, __s64 value);
bool code_state_align_sp(struct code_state *s);
bool code_state_pop(struct code_state *s, __u8 reg);

#endif /* KRAIT_NATIVE_ROWS_CODE_STATE_H */
