/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * x86_insn.h - instructions of x86-64: their length, their effect on the stack, and where the program
 * continues (Intel SDM 2, appendix A; volume 1, 3.7). Included by code_state.h.
 *
 * Must hold: an unknown instruction is CODE_BAD, never something else.
 */
#ifndef KRAIT_ROWS_X86_INSN_H
#define KRAIT_ROWS_X86_INSN_H

#ifdef __x86_64__
#include <linux/types.h>
#include <stdbool.h>

#define X86_INSN_MAX 15
#define CODE_BINDING_DEPTH 0
/* Only right behind who calls it is a function without the usual convention. */
#define CODE_INNER_ANYWHERE 0
/* Of functions, and of instructions, in bytes. */
#define CODE_ALIGNMENT 16
#define CODE_STEP 1
/* The shortest function is a PLT stub. */
#define CODE_FUNCTION_MIN 6
#define X86_RBX 3
#define X86_RSP 4
#define X86_RBP 5
#define X86_NO_REG 0xff

enum x86_kind {
	X86_OTHER = CODE_MACHINE,
	X86_PUSH, /* of reg, or X86_NO_REG */
	X86_POP,
	X86_ADD_SP, /* value */
	X86_COPY_SP, /* reg, rbp or rbx, = rsp */
	X86_SET_SP, /* rsp = reg + value; reg is rbp or rbx */
	X86_LEAVE,
	X86_ALIGN_SP, /* rsp decreases by an unknown amount */
	X86_STORE, /* reg to [rsp + value] */
	X86_LOAD, /* reg from [rsp + value] */
};

struct code_insn {
	__u8 kind; /* enum code_kind, x86_kind */
	__u8 len;
	__u8 reg; /* the register that the kind refers to */
	__u8 written, written_too; /* general registers whose values change; X86_NO_REG: none */
	__s64 value;
};

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

/*
 * After rsp was aligned, the CFA is found through a copy of its earlier value.
 */
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

#endif /* __x86_64__ */
#endif /* KRAIT_ROWS_X86_INSN_H */
