/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/rows/code_state.h"

#ifdef __aarch64__
#include <string.h>

#include "process/elf/a64_code.h"

#define ZERO 31 /* in encodings that mean zero, not sp */

static void write_reg(struct code_insn *x, unsigned reg)
{
	for (unsigned i = 0; i < sizeof(x->written); i++)
		if (x->written[i] == A64_NO_REG) {
			x->written[i] = (__u8)reg;
			return;
		}
}

/* A branch's target is counted from the end of the instruction. */
static void jump(struct code_insn *x, enum code_kind kind, __s64 words)
{
	x->kind = (__u8)kind;
	x->value = words * 4 - 4;
}

/* ---- branches, exceptions, system (C4.1.66) ----------------------------------------------------- */

static void read_by_reg(struct code_insn *x, __u32 insn)
{
	unsigned op = a64_bits(insn, 21, 4), reg = a64_bits(insn, 5, 5);
	bool has_key = a64_bits(insn, 11, 1); /* signed pointers: bits 4..0 are a modifier, or 31 */

	if (op == 1 || op == 9) {
		x->kind = CODE_CALL;
	} else if (op == 2 && (reg == A64_LR || has_key)) {
		x->kind = CODE_RET;
	} else if (op == 0 || op == 8 || op == 2) {
		/* x16 and x17 are what stubs and tail calls go by. */
		x->kind = reg == 16 || reg == 17 ? CODE_JMP_BY_GOT : CODE_JMP_BY_REG;
	} else {
		x->kind = CODE_TRAP; /* eret, drps: not in user mode */
	}
}

static void read_branch(struct code_insn *x, __u32 insn)
{
	if ((insn & 0x7c000000) == 0x14000000)
		jump(x, insn >> 31 ? CODE_CALL : CODE_JMP, a64_signed_bits(insn, 0, 26));
	else if ((insn & 0xff000000) == 0x54000000 || (insn & 0x7e000000) == 0x34000000)
		jump(x, CODE_JCC, a64_signed_bits(insn, 5, 19));
	else if ((insn & 0x7e000000) == 0x36000000)
		jump(x, CODE_JCC, a64_signed_bits(insn, 5, 14));
	else if ((insn & 0xfe000000) == 0xd6000000)
		read_by_reg(x, insn);
	else if (insn == 0xd503201f)
		x->kind = CODE_NOP;
	else if ((insn & 0xffe0001f) == 0xd4200000 || (insn & 0xffe0001f) == 0xd4400000)
		x->kind = CODE_TRAP; /* brk, hlt */
	else if ((insn & 0xfff00000) == 0xd5300000 || (insn & 0xfff80000) == 0xd5280000)
		write_reg(x, a64_bits(insn, 0, 5)); /* mrs, sysl */
	else if ((insn & 0xff000000) != 0xd4000000 && (insn & 0xff000000) != 0xd5000000)
		x->kind = CODE_BAD;
}

/* ---- arithmetic (C4.1.65, C4.1.68) -------------------------------------------------------------- */

/* add or sub with an immediate: the only one whose effect on sp is known. */
static void read_add(struct code_insn *x, __u32 insn)
{
	unsigned to = a64_bits(insn, 0, 5), from = a64_bits(insn, 5, 5);
	__s64 value = (__s64)a64_bits(insn, 10, 12) << (a64_bits(insn, 22, 1) ? 12 : 0);

	x->value = a64_bits(insn, 30, 1) ? -value : value;
	x->by = (__u8)(to == A64_SP ? from : to);
	if (to == A64_SP)
		x->kind = from == A64_SP ? A64_ADD_SP : A64_SET_SP;
	else if (from == A64_SP)
		x->kind = A64_COPY_SP;
	else
		write_reg(x, to);
}

static void read_immediate(struct code_insn *x, __u32 insn)
{
	bool flags = a64_bits(insn, 29, 1);
	unsigned to = a64_bits(insn, 0, 5), group = a64_bits(insn, 23, 3);

	if (group == 2 && !flags && insn >> 31)
		read_add(x, insn);
	else if (to == A64_SP && (((group == 2 || group == 3) && !flags) ||
				  (group == 4 && a64_bits(insn, 29, 2) != 3)))
		x->kind = A64_LOSE_SP; /* 32 bits of it, tagged memory, and, orr, eor */
	else if (to != ZERO)
		write_reg(x, to);
}

static void read_register(struct code_insn *x, __u32 insn)
{
	unsigned to = a64_bits(insn, 0, 5);

	/* add and sub of an extended register */
	if ((insn & 0x1f200000) == 0x0b200000 && !a64_bits(insn, 29, 1) && to == A64_SP)
		x->kind = A64_LOSE_SP;
	else if (to != ZERO)
		write_reg(x, to);
}

/* Vectors: few of them change a general register. */
static void read_vector(struct code_insn *x, __u32 insn)
{
	bool to_int = (insn & 0x7f20fc00) == 0x1e200000; /* fmov, fcvt* */
	bool from_lane = (insn & 0xbfe0ec00) == 0x0e002c00; /* smov, umov */

	if (to_int || from_lane)
		write_reg(x, a64_bits(insn, 0, 5));
}

/*
 * Scalable vectors (C4.1.37): these change a general register. Of others the same bits name a vector: z30 is not x30, which
 * leaves have their return address in.
 */
static bool scalable_is_general(__u32 insn)
{
	const unsigned group = a64_bits(insn, 11, 5), kind = a64_bits(insn, 16, 5);

	switch (insn & 0xff200000) {
	case 0x04200000: /* addvl, addpl, rdvl; cntb, incb, sqincb */
		return group >> 1 == 0x05 || group >> 2 == 0x07;
	case 0x05200000: /* lasta, lastb, clasta, clastb */
		return group >> 2 == 0x05 && (kind & 0x0e) == 0;
	case 0x25200000: /* cntp; incp, sqincp */
		return group >> 3 == 0x02 && (kind < 0x08 || (kind < 0x10 && group == 0x11));
	default:
		return false;
	}
}

static void read_scalable(struct code_insn *x, __u32 insn)
{
	unsigned to = a64_bits(insn, 0, 5);

	/* addvl, addpl: C8.2 */
	if ((insn & 0xffa0f000) == 0x04205000 && to == A64_SP)
		x->kind = A64_LOSE_SP;
	else if (scalable_is_general(insn))
		write_reg(x, to);
}

/* ---- loads and stores (C4.1.67) ------------------------------------------------------------------ */

/*
 * An access to [base + at], with base moved by before and after. loads, size: of the general registers that it
 * moves; 8 is all of one.
 */
struct access {
	unsigned base, regs[2], size;
	bool loads, vector;
	__s64 at, before, after;
};

static void put_access(struct code_insn *x, const struct access *a)
{
	bool moves = a->before || a->after;

	if (!a->vector && a->loads)
		for (int i = 0; i < 2; i++)
			if (a->regs[i] != ZERO && a->regs[i] != A64_NO_REG)
				write_reg(x, a->regs[i]);
	if (a->base != A64_SP && moves)
		write_reg(x, a->base);
	if (a->base != A64_SP && (a->base != A64_FP || moves))
		return;
	x->kind = a->loads ? A64_LOAD : A64_STORE;
	x->by = (__u8)a->base;
	x->value = a->at;
	x->before = a->before;
	x->after = a->after;
	/* What moves only a part of a register, or no general one, changes no more than sp. */
	if (!a->vector && a->size == 8)
		for (int i = 0; i < 2; i++)
			x->regs[i] = (__u8)a->regs[i];
}

static void read_pair(struct code_insn *x, __u32 insn)
{
	unsigned opc = insn >> 30, mode = a64_bits(insn, 23, 2);
	bool vector = a64_bits(insn, 26, 1);
	unsigned size = vector ? 4U << opc : opc == 2 ? 8 : 4;
	__s64 at = a64_signed_bits(insn, 15, 7) * (__s64)size;

	if (opc == 3 || (!vector && opc == 1 && !a64_bits(insn, 22, 1))) {
		x->kind = opc == 3 ? CODE_BAD : A64_OTHER; /* stgp stores tags, too */
		if (a64_bits(insn, 5, 5) == A64_SP && opc != 3 && mode & 1)
			x->kind = A64_LOSE_SP;
		return;
	}
	put_access(x, &(struct access){ .base = a64_bits(insn, 5, 5),
					.regs = { a64_bits(insn, 0, 5), a64_bits(insn, 10, 5) },
					.size = size,
					.vector = vector,
					.loads = a64_bits(insn, 22, 1),
					.at = mode == 2 ? at : 0,
					.before = mode == 3 ? at : 0,
					.after = mode == 1 ? at : 0 });
}

static void read_single(struct code_insn *x, __u32 insn)
{
	bool vector = a64_bits(insn, 26, 1), scaled = a64_bits(insn, 24, 1);
	unsigned log = insn >> 30, opc = a64_bits(insn, 22, 2),
		 mode = scaled ? 0 : a64_bits(insn, 10, 2);
	bool loads = vector ? opc & 1 : opc != 0;
	struct access a = { .base = a64_bits(insn, 5, 5), .vector = vector, .loads = loads };

	a.size = vector && opc >= 2 ? 16 : 1U << log;
	a.regs[0] = a64_bits(insn, 0, 5);
	a.regs[1] = A64_NO_REG;
	if (!vector && log == 3 && opc == 2)
		return; /* prfm */
	/* Sign-extended or narrow: not the value that was saved. */
	if (!vector && opc > 1)
		a.size = 4;
	if (scaled) {
		a.at = (__s64)a64_bits(insn, 10, 12) * a.size;
		if (!vector && opc > 1)
			a.at = (__s64)a64_bits(insn, 10, 12) << log;
	} else if (a64_bits(insn, 21, 1)) {
		/* atomics, register offsets, signed pointers */
		if (!vector)
			write_reg(x, a.regs[0]);
		if (mode & 1 && a.base == A64_SP)
			x->kind = A64_LOSE_SP;
		else if (mode & 1)
			write_reg(x, a.base);
		return;
	} else {
		__s64 at = a64_signed_bits(insn, 12, 9);

		a.at = mode & 1 ? 0 : at;
		a.before = mode == 3 ? at : 0;
		a.after = mode == 1 ? at : 0;
	}
	put_access(x, &a);
}

static void read_memory(struct code_insn *x, __u32 insn)
{
	if ((insn & 0x3a000000) == 0x28000000) {
		read_pair(x, insn);
	} else if ((insn & 0x3a000000) == 0x38000000) {
		read_single(x, insn);
	} else if ((insn & 0x3b000000) == 0x18000000) {
		if (!a64_bits(insn, 26, 1))
			write_reg(x, a64_bits(insn, 0, 5)); /* relative to the code */
	} else if ((insn & 0xbf000000) == 0x0c000000 || (insn & 0xbf000000) == 0x0d000000) {
		/* ld1 to st4: with bit 23 they move the base by what they moved. */
		if (a64_bits(insn, 23, 1) && a64_bits(insn, 5, 5) == A64_SP)
			x->kind = A64_LOSE_SP;
		else if (a64_bits(insn, 23, 1))
			write_reg(x, a64_bits(insn, 5, 5));
	} else if ((insn & 0xbfa07c00) == 0x08207c00) {
		/* compare and swap pairs */
		write_reg(x, a64_bits(insn, 16, 5));
		write_reg(x, a64_bits(insn, 16, 5) | 1);
	} else if ((insn & 0x3f000000) == 0x08000000) {
		/* exclusive, ordered, compare and swap */
		write_reg(x, a64_bits(insn, 0, 5));
		write_reg(x, a64_bits(insn, 10, 5));
		write_reg(x, a64_bits(insn, 16, 5));
	} else if (a64_bits(insn, 5, 5) == A64_SP) {
		x->kind = A64_LOSE_SP; /* tags, copies: not seen there */
	} else {
		write_reg(x, a64_bits(insn, 0, 5));
		write_reg(x, a64_bits(insn, 5, 5));
		write_reg(x, a64_bits(insn, 16, 5));
	}
}

struct code_insn code_insn(const __u8 *code, __u64 left)
{
	struct code_insn x = { .kind = A64_OTHER,
			       .len = 4,
			       .regs = { A64_NO_REG, A64_NO_REG },
			       .written = { A64_NO_REG, A64_NO_REG, A64_NO_REG } };
	__u32 insn;

	if (left < sizeof(insn))
		return (struct code_insn){ .kind = CODE_BAD, .len = 4 };
	memcpy(&insn, code, sizeof(insn));
	switch (a64_bits(insn, 25, 4)) {
	case 0: /* udf; matrices */
		x.kind = !(insn >> 16) ? CODE_TRAP : insn >> 31 ? A64_OTHER : CODE_BAD;
		break;
	case 1:
	case 3:
		x.kind = CODE_BAD;
		break;
	case 2:
		read_scalable(&x, insn);
		break;
	case 8:
	case 9:
		read_immediate(&x, insn);
		break;
	case 10:
	case 11:
		read_branch(&x, insn);
		break;
	case 5:
	case 13:
		read_register(&x, insn);
		break;
	case 7:
	case 15:
		read_vector(&x, insn);
		break;
	default:
		read_memory(&x, insn);
	}
	return x;
}
#endif
