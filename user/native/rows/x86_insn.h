/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * x86_insn.h - decodes one instruction of x86-64: its length, its effect on the stack, and where
 * the program continues (Intel SDM 2, appendix A; volume 1, 3.7).
 *
 * Must hold: reads no byte beyond the end; an unknown instruction is X86_BAD, never something else.
 */
#ifndef KRAIT_NATIVE_ROWS_X86_INSN_H
#define KRAIT_NATIVE_ROWS_X86_INSN_H

#include <linux/types.h>
#include <stdbool.h>

#define X86_INSN_MAX 15
#define X86_RBX 3
#define X86_RSP 4
#define X86_RBP 5
#define X86_NO_REG 0xff

enum x86_kind {
	X86_BAD,
	X86_OTHER,
	X86_PUSH, /* of reg, or X86_NO_REG */
	X86_POP,
	X86_ADD_SP, /* value */
	X86_COPY_SP, /* reg, rbp or rbx, = rsp */
	X86_SET_SP, /* rsp = reg + value; reg is rbp or rbx */
	X86_LEAVE,
	X86_ALIGN_SP, /* rsp decreases by an unknown amount */
	X86_STORE, /* reg to [rsp + value] */
	X86_LOAD, /* reg from [rsp + value] */
	X86_JCC, /* to value, relative to the end of the instruction */
	X86_JMP,
	X86_JMP_BY_REG, /* to an address from a register or memory: a jump table, or a tail call */
	X86_JMP_BY_GOT, /* to an address in memory beside the code: a stub */
	X86_CALL,
	X86_RET,
	X86_TRAP, /* execution stops here: ud2, hlt, int3 */
	X86_NOP,
};

struct x86_insn {
	__u8 kind; /* enum x86_kind */
	__u8 len;
	__u8 reg; /* the register that the kind refers to */
	__u8 written, written_too; /* general registers whose values change; X86_NO_REG: none */
	__s64 value;
};

struct x86_insn x86_insn(const __u8 *code, __u64 left);

#endif /* KRAIT_NATIVE_ROWS_X86_INSN_H */
