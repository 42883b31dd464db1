/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * code_state.h - what is known of the stack between two instructions of a function: where the CFA is, and where the
 * caller's rbp and rbx are.
 *
 * Must hold: what is not proved by the instructions passed is LOST, or the function makes no sense.
 */
#ifndef KRAIT_UNWIND_CODE_STATE_H
#define KRAIT_UNWIND_CODE_STATE_H

#include <linux/types.h>
#include <stdbool.h>

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

struct code_state {
	__s32 depth; /* CFA - rsp */
	__s32 fp_depth; /* CFA - rbp, where has_fp */
	bool has_fp;
	bool by_fp; /* nobody knows where rsp is: the CFA is found by rbp, which has_fp then */
	__s32 below; /* by_fp: how far rsp is below where it was when it was aligned */
	struct code_kept rbp, rbx;
};

#define CODE_STATE_AT_ENTRY                                                                        \
	{                                                                                          \
		.depth = 8                                                                         \
	}

bool code_state_same(const struct code_state *a, const struct code_state *b);
/* As at the call: a jump from here is one to another function. */
bool code_state_is_left(const struct code_state *s);

/* reg has another value now. */
void code_state_overwrite(struct code_state *s, __u8 reg);
/* reg to or from [rsp + value]. From where it was saved it is the caller's again. */
void code_state_store(struct code_state *s, __u8 reg, __s64 value);
void code_state_load(struct code_state *s, __u8 reg, __s64 value);
/* rsp = rsp + value; rsp = rbp + value; rsp is aligned; reg is popped. False: nobody can tell where it is then. */
bool code_state_move_sp(struct code_state *s, __s64 value);
bool code_state_sp_from_fp(struct code_state *s, __s64 value);
bool code_state_align_sp(struct code_state *s);
bool code_state_pop(struct code_state *s, __u8 reg);

#endif /* KRAIT_UNWIND_CODE_STATE_H */
