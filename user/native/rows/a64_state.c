/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/rows/code_state.h"

#ifdef __aarch64__
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bpf/native/rows.h"
#include "native/rows/cfi.h"

/* Deeper than any hand-written frame. */
#define DEPTH_MAX (1 << 20)

struct code_state code_state_begin(bool is_inner)
{
	return (struct code_state){ 0 };
}

/* Paths of which only some have called another function meet: gone is not compared. */
static bool kept_same(const struct code_kept *a, const struct code_kept *b)
{
	return a->place == b->place && (a->place != SAVED || a->at == b->at);
}

bool code_state_same(const struct code_state *a, const struct code_state *b)
{
	return a->by_fp == b->by_fp && (a->by_fp || a->depth == b->depth) &&
	       a->has_fp == b->has_fp && (!a->has_fp || a->fp_depth == b->fp_depth) &&
	       kept_same(&a->fp, &b->fp) && kept_same(&a->lr, &b->lr) &&
	       kept_same(&a->base, &b->base);
}

bool code_state_is_left(const struct code_state *s, bool is_inner)
{
	return !s->depth && !s->by_fp && !s->lr.gone && !s->fp.gone && !s->base.gone;
}

/* After "stp x16, x30, [sp, #-16]!". */
bool code_state_is_binding(const struct code_state *s)
{
	return s->depth == CODE_BINDING_DEPTH && !s->by_fp && s->lr.place == SAVED &&
	       s->lr.at == -8 && !s->fp.gone && !s->base.gone;
}

bool code_state_is_lost(const struct code_state *s)
{
	return s->by_fp && !s->has_fp;
}

static struct code_kept *kept_of(struct code_state *s, __u8 reg)
{
	return reg == A64_FP ? &s->fp : reg == A64_LR ? &s->lr : reg == A64_BASE ? &s->base : NULL;
}

static void overwrite(struct code_state *s, __u8 reg)
{
	struct code_kept *k = kept_of(s, reg);

	if (k && k->place == IN_REGISTER)
		k->place = LOST;
	if (k)
		k->gone = true;
	if (reg == A64_FP)
		s->has_fp = false;
}

static bool move_sp(struct code_state *s, __s64 value)
{
	__s64 depth = s->depth - value;

	if (s->by_fp)
		return true;
	if (depth < 0 || depth > DEPTH_MAX)
		return false;
	s->depth = (__s32)depth;
	return true;
}

/* Where [by + value] is, from the CFA. false: unknown. */
static bool find_place(const struct code_state *s, __u8 by, __s64 value, __s64 *ret)
{
	*ret = value - (by == A64_SP ? s->depth : s->fp_depth);
	return (by == A64_SP ? !s->by_fp : s->has_fp) && *ret < 0 && *ret >= -DEPTH_MAX;
}

static bool access(struct code_state *s, const struct code_insn *x)
{
	bool loads = x->kind == A64_LOAD, is_callers[2] = { false, false };

	if (!move_sp(s, x->before))
		return false;
	for (int i = 0; i < 2; i++) {
		struct code_kept *k = kept_of(s, x->regs[i]);
		__s64 at;

		if (!k || !find_place(s, x->by, x->value + 8 * i, &at))
			continue;
		is_callers[i] = loads && k->place == SAVED && k->at == at;
		if (!loads && k->place == IN_REGISTER)
			*k = (struct code_kept){ .place = SAVED, .at = (__s32)at, .gone = k->gone };
	}
	for (unsigned i = 0; i < sizeof(x->written); i++)
		overwrite(s, x->written[i]);
	for (int i = 0; i < 2; i++)
		if (is_callers[i])
			*kept_of(s, x->regs[i]) = (struct code_kept){ .place = IN_REGISTER };
	return move_sp(s, x->after);
}

bool code_state_apply(struct code_state *s, const struct code_insn *x)
{
	switch (x->kind) {
	case A64_ADD_SP:
		return move_sp(s, x->value);
	case A64_SET_SP:
		if (!s->has_fp || s->fp_depth - x->value < 0 || s->fp_depth - x->value > DEPTH_MAX)
			return false;
		s->by_fp = false;
		s->depth = (__s32)(s->fp_depth - x->value);
		return true;
	case A64_COPY_SP:
		overwrite(s, A64_FP);
		s->has_fp = !s->by_fp && s->depth - x->value >= 0;
		s->fp_depth = s->has_fp ? (__s32)(s->depth - x->value) : 0;
		return true;
	case A64_LOSE_SP:
		s->by_fp = true;
		return s->has_fp;
	case A64_STORE:
	case A64_LOAD:
		return access(s, x);
	case CODE_CALL:
		overwrite(s, A64_LR);
		return true;
	default:
		for (unsigned i = 0; i < sizeof(x->written); i++)
			overwrite(s, x->written[i]);
		return true;
	}
}

static bool fits(__s32 off)
{
	return off > INT16_MIN && off < 0;
}

struct unwind_rule code_state_rule(const struct code_state *s)
{
	struct unwind_rule r = {
		.cfa = UNWIND_CFA_REG,
		.reg = s->by_fp ? UNWIND_REG_FP : UNWIND_REG_SP,
		.off = s->by_fp ? s->fp_depth : s->depth,
		.fp = UNWIND_FP_UNKNOWN,
		.base_off = UNWIND_BASE_UNKNOWN,
	};

	/* Behind the epilogue it is below sp, where a signal's frame may be. */
	if (s->lr.place == SAVED && fits(s->lr.at) &&
	    (s->lr.gone || s->by_fp || s->lr.at >= -s->depth)) {
		r.ra = UNWIND_RA_CFA;
		r.ra_off = (__s16)s->lr.at;
	} else if (!s->lr.gone && !s->by_fp) {
		r.ra = UNWIND_RA_REG;
		r.ra_off = UNWIND_REG_RA;
	} else {
		return (struct unwind_rule){ 0 };
	}
	if (s->fp.place == IN_REGISTER) {
		r.fp = UNWIND_FP_SAME;
	} else if (s->fp.place == SAVED && fits(s->fp.at)) {
		r.fp = UNWIND_FP_CFA;
		r.fp_off = (__s16)s->fp.at;
	}
	if (s->base.place == IN_REGISTER)
		r.base_off = 0;
	else if (s->base.place == SAVED && fits(s->base.at) && r.ra == UNWIND_RA_CFA)
		r.base_off = (__s16)s->base.at;
	return r;
}

bool code_is_prologue(const __u8 *code, __u64 left)
{
	__u32 insn;

	if (left < sizeof(insn))
		return false;
	memcpy(&insn, code, sizeof(insn));
	/* paciasp, pacibsp, bti c, stp x29, x30, [sp, #-n]! */
	return insn == 0xd503233f || insn == 0xd503237f || insn == 0xd503245f ||
	       (insn & 0xffe07fff) == 0xa9a07bfd;
}

/* The JIT's traces keep the frame pointer on this machine. */
bool code_is_trace(const __u8 *code, __u64 left)
{
	return false;
}

__u64 code_filling(const __u8 *code, __u64 left)
{
	__u32 insn;

	if (left < sizeof(insn))
		return left;
	memcpy(&insn, code, sizeof(insn));
	return !insn || insn == 0xd503201f ? sizeof(insn) : 0;
}

/* glibc's clone() has an entry that covers all of it (sysdeps/unix/sysv/linux/aarch64/clone.S). */
bool code_is_clone(const __u8 *code, __u64 size, struct unwind_rule *ret)
{
	return false;
}

/* Each begins as any function with a frame pointer. */
const struct code_trampoline *code_trampoline_at(const __u8 *code, __u64 left)
{
	return NULL;
}

/* bti c */
__u32 code_landing(const __u8 *code, __u64 left)
{
	static const __u8 bti[] = { 0x5f, 0x24, 0x03, 0xd5 };

	return left >= sizeof(bti) && !memcmp(code, bti, sizeof(bti)) ? sizeof(bti) : 0;
}
#endif
