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
/* Of the frame of who calls. */
#define CALLERS_MAX 4096

struct code_state code_state_begin(bool is_inner)
{
	return (struct code_state){ .is_inner = is_inner,
				    .base = { .place = is_inner ? LOST : IN_REGISTER } };
}

/* Paths of which only some have called another function meet: gone is not compared. */
static bool kept_same(const struct code_kept *a, const struct code_kept *b)
{
	return a->place == b->place && (a->place != SAVED || a->at == b->at);
}

static bool copies_same(const struct code_copy *a, const struct code_copy *b)
{
	return a->is == b->is && (!a->is || (a->reg == b->reg && a->depth == b->depth));
}

bool code_state_same(const struct code_state *a, const struct code_state *b)
{
	return a->by_copy == b->by_copy && (a->by_copy || a->depth == b->depth) &&
	       copies_same(&a->frame, &b->frame) && copies_same(&a->other, &b->other) &&
	       kept_same(&a->fp, &b->fp) && kept_same(&a->lr, &b->lr) &&
	       kept_same(&a->base, &b->base);
}

bool code_state_is_left(const struct code_state *s, bool is_inner)
{
	return !s->depth && !s->by_copy && !s->lr.gone && !s->fp.gone &&
	       (is_inner || !s->base.gone);
}

/* After "stp x16, x30, [sp, #-16]!". */
bool code_state_is_binding(const struct code_state *s)
{
	return s->depth == CODE_BINDING_DEPTH && !s->by_copy && s->lr.place == SAVED &&
	       s->lr.at == -8 && !s->fp.gone && !s->base.gone;
}

bool code_state_is_lost(const struct code_state *s)
{
	return s->by_copy && !s->frame.is && !s->other.is;
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
		s->frame.is = false;
	if (reg == s->other.reg)
		s->other.is = false;
}

/* What was saved below sp may be overwritten by a signal: only a register can still have it. */
static void give_up_below(struct code_state *s, struct code_kept *k)
{
	if (k->place == SAVED && k->at < -s->depth)
		*k = (struct code_kept){ .place = k->gone ? LOST : IN_REGISTER, .gone = k->gone };
}

static bool set_depth(struct code_state *s, __s64 depth)
{
	bool grows = !s->by_copy && depth > s->depth;

	if (depth < 0 || depth > DEPTH_MAX)
		return false;
	s->by_copy = false;
	s->depth = (__s32)depth;
	if (grows)
		return true;
	give_up_below(s, &s->fp);
	give_up_below(s, &s->lr);
	give_up_below(s, &s->base);
	return true;
}

static bool move_sp(struct code_state *s, __s64 value)
{
	return s->by_copy || !value || set_depth(s, s->depth - value);
}

static bool lose_sp(struct code_state *s)
{
	s->by_copy = true;
	return !code_state_is_lost(s);
}

/* sp = reg + value. */
static bool set_sp(struct code_state *s, __u8 reg, __s64 value)
{
	struct code_copy *c = reg == A64_FP ? &s->frame : &s->other;

	if (!c->is || c->reg != reg)
		return lose_sp(s);
	/* It has served: paths meet that have none. */
	s->other.is = false;
	return set_depth(s, c->depth - value);
}

/* Of others than x29 the first, which no call changes in between; x0 to x8 are for arguments and results. */
static void copy_sp(struct code_state *s, __u8 reg, __s64 value)
{
	struct code_copy *c = reg == A64_FP ? &s->frame : &s->other;

	overwrite(s, reg);
	if (s->by_copy || s->depth < value ||
	    (reg != A64_FP && (!s->is_inner || reg < 9 || value || c->is)))
		return;
	*c = (struct code_copy){ true, reg, (__s32)(s->depth - value) };
}

static void call(struct code_state *s)
{
	overwrite(s, A64_LR);
	if (s->other.reg < A64_BASE)
		s->other.is = false;
}

/*
 * Where [by + value] is, from the CFA. false: unknown. OpenSSL's Keccak saves its return address in the frame of who
 * calls it.
 */
static bool find_place(const struct code_state *s, const struct code_insn *x, int i, __s64 *ret)
{
	*ret = x->value + 8 * i - (x->by == A64_SP ? s->depth : s->frame.depth);
	return (x->by == A64_SP ? !s->by_copy : s->frame.is) && *ret >= -DEPTH_MAX &&
	       *ret < (x->regs[i] == A64_LR ? CALLERS_MAX : 0);
}

static bool access(struct code_state *s, const struct code_insn *x)
{
	bool loads = x->kind == A64_LOAD, is_callers[2] = { false, false };

	if (!move_sp(s, x->before))
		return false;
	for (int i = 0; i < 2; i++) {
		struct code_kept *k = kept_of(s, x->regs[i]);
		__s64 at;

		if (!k || !find_place(s, x, i, &at))
			continue;
		is_callers[i] = loads && k->place == SAVED && k->at == at;
		if (!loads && k->place == IN_REGISTER)
			*k = (struct code_kept){ .place = SAVED, .at = (__s32)at, .gone = k->gone };
	}
	for (unsigned i = 0; i < sizeof(x->written); i++)
		overwrite(s, x->written[i]);
	/* It is still where it was saved, too. */
	for (int i = 0; i < 2; i++)
		if (is_callers[i])
			kept_of(s, x->regs[i])->gone = false;
	return move_sp(s, x->after);
}

bool code_state_apply(struct code_state *s, const struct code_insn *x)
{
	switch (x->kind) {
	case A64_ADD_SP:
		return move_sp(s, x->value);
	case A64_SET_SP:
		return set_sp(s, x->by, x->value);
	case A64_COPY_SP:
		copy_sp(s, x->by, x->value);
		return true;
	case A64_LOSE_SP:
		return lose_sp(s);
	case A64_STORE:
	case A64_LOAD:
		return access(s, x);
	case CODE_CALL:
		call(s);
		return true;
	default:
		for (unsigned i = 0; i < sizeof(x->written); i++)
			overwrite(s, x->written[i]);
		return true;
	}
}

static bool fits(__s32 off)
{
	return off > INT16_MIN && off <= INT16_MAX;
}

struct unwind_rule code_state_rule(const struct code_state *s)
{
	const struct code_copy *copy = s->frame.is ? &s->frame : &s->other;
	struct unwind_rule r = {
		.cfa = UNWIND_CFA_REG,
		.reg = s->by_copy ? copy->reg : UNWIND_REG_SP,
		.off = s->by_copy ? copy->depth : s->depth,
		.fp = UNWIND_FP_UNKNOWN,
		.base_off = UNWIND_BASE_UNKNOWN,
	};

	/* Before sp is moved what was saved below it may be overwritten. */
	if (s->lr.place == SAVED && fits(s->lr.at) &&
	    (s->lr.gone || s->by_copy || s->lr.at >= -s->depth)) {
		r.ra = UNWIND_RA_CFA;
		r.ra_off = (__s16)s->lr.at;
	} else if (!s->lr.gone && !s->by_copy) {
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
