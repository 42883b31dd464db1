/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * a64_insn.h - instructions of arm64: their effect on the stack, and where the program continues (Arm
 * Architecture Reference Manual, DDI 0487, C4.1: encodings by group). Included by code_state.h.
 *
 * Must hold: an unallocated encoding is CODE_BAD; what may change sp in a way that is not known is A64_LOSE_SP.
 */
#ifndef KRAIT_ROWS_A64_INSN_H
#define KRAIT_ROWS_A64_INSN_H

#ifdef __aarch64__
#include <linux/types.h>
#include <stdbool.h>

/* Of functions, and of instructions, in bytes. */
#define CODE_ALIGNMENT 4
#define CODE_STEP 4
#define CODE_FUNCTION_MIN 4
/* Bytes that the header of stubs has pushed when it jumps to the dynamic linker. */
#define CODE_BINDING_DEPTH 16
/* Functions without the usual convention are anywhere. */
#define CODE_INNER_ANYWHERE 1

#define A64_BASE 19 /* callee-saved; see UNWIND_REG_BASE */
#define A64_FP 29
#define A64_LR 30
#define A64_SP 31 /* in encodings that mean sp, not zero */
#define A64_NO_REG 0xff

enum a64_kind {
	A64_OTHER = CODE_MACHINE,
	A64_ADD_SP, /* sp = sp + value */
	A64_SET_SP, /* sp = by + value */
	A64_COPY_SP, /* by = sp + value */
	A64_LOSE_SP, /* sp has an unknown value */
	A64_STORE, /* regs to [by + value], the second one 8 bytes higher */
	A64_LOAD,
};

struct code_insn {
	__u8 kind; /* enum code_kind, a64_kind */
	__u8 len; /* 4 */
	__u8 by; /* A64_STORE, A64_LOAD: A64_SP or A64_FP; A64_SET_SP, A64_COPY_SP: any */
	__u8 regs[2]; /* of these, or A64_NO_REG */
	__u8 written[3]; /* general registers whose values change; A64_NO_REG: none */
	__s64 value;
	__s64 before, after; /* what is added to sp before and after the access */
};

/* Where the caller's value of a register is. */
enum code_place { IN_REGISTER, SAVED, LOST };

struct code_kept {
	__u8 place; /* enum code_place */
	bool gone; /* the register itself has another value */
	__s32 at; /* SAVED: from the CFA; negative: below */
};

/* A register that has been set from sp. */
struct code_copy {
	bool is;
	__u8 reg;
	__s32 depth; /* CFA - reg */
};

/* Where sp is not known, the CFA is found by x29, or else by the other register. */
struct code_state {
	__s32 depth; /* CFA - sp */
	bool by_copy; /* depth is not known */
	struct code_copy frame, other; /* x29; another one, in hand-written code */
	bool is_inner;
	struct code_kept fp, lr, base;
};

#endif /* __aarch64__ */
#endif /* KRAIT_ROWS_A64_INSN_H */
