/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * code_state.h - what is known of the stack between two instructions of a function: where the CFA is, and where the
 * caller's rbp and rbx are. Where rsp was aligned, the CFA is found by a copy of what it was before.
 *
 * Must hold: what the instructions passed do not prove is LOST, or the function is rejected.
 */
#ifndef KRAIT_UNWIND_CODE_STATE_H
#define KRAIT_UNWIND_CODE_STATE_H

#include <linux/types.h>
#include <stdbool.h>

#include "unwind/x86_insn.h"

/* Where a register's value in the caller is. */
enum code_place {
	IN_REGISTER,
	SAVED,
	SAVED_BELOW, /* from where rsp was when it was aligned: nobody knows how far that is from the CFA */
	LOST
};

struct code_kept {
	__u8 place; /* enum code_place */
	__s32 at; /* SAVED: from the CFA, SAVED_BELOW: from there; below 0 */
};

/* A register that has been made a copy of rsp. */
struct code_copy {
	bool is; /* it still is one */
	__s32 depth; /* CFA - its value */
};

struct code_state {
	__s32 depth; /* CFA - rsp */
	struct code_copy fp, base; /* rbp, rbx */
	__u8 by; /* what the CFA is found by: rsp, or where nobody knows where that is rbp or rbx, a copy then */
	__s32 below; /* not by rsp: how far that is below where it was when it was aligned */
	struct code_kept rbp, rbx;
};

#define CODE_STATE_AT_ENTRY                                                                        \
	{                                                                                          \
		.depth = 8, .by = X86_RSP                                                          \
	}

bool code_state_same(const struct code_state *a, const struct code_state *b);
/* As at the call: a jump from here is one to another function. */
bool code_state_is_left(const struct code_state *s);

/* What the CFA is found by has another value. */
bool code_state_is_lost(const struct code_state *s);
/* CFA minus what it is found by. */
__s32 code_state_cfa(const struct code_state *s);

/* reg has another value now. */
void code_state_overwrite(struct code_state *s, __u8 reg);
/* reg to or from [rsp + value]. From where it was saved it is the caller's again. */
void code_state_store(struct code_state *s, __u8 reg, __s64 value);
void code_state_load(struct code_state *s, __u8 reg, __s64 value);
/* reg, which is rbp or rbx, = rsp. */
void code_state_copy_sp(struct code_state *s, __u8 reg);
/* rsp = rsp + value; rsp = reg + value; rsp is aligned; reg is popped. False: nobody can tell where it is then. */
bool code_state_move_sp(struct code_state *s, __s64 value);
bool code_state_sp_from(struct code_state *s, __u8 reg, __s64 value);
bool code_state_align_sp(struct code_state *s);
bool code_state_pop(struct code_state *s, __u8 reg);

#endif /* KRAIT_UNWIND_CODE_STATE_H */
