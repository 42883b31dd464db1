/* SPDX-License-Identifier: BSD-2-Clause */
#include "unwind/code_state.h"

#include <stddef.h>

#ifdef __x86_64__
#include "unwind/x86_insn.h"

/* Deeper than any frame that somebody has written by hand. */
#define DEPTH_MAX (1 << 20)

bool code_state_same(const struct code_state *a, const struct code_state *b)
{
	return a->depth == b->depth && a->has_fp == b->has_fp && a->by_fp == b->by_fp &&
	       a->below == b->below && (!a->has_fp || a->fp_depth == b->fp_depth) &&
	       a->rbp.place == b->rbp.place && a->rbp.at == b->rbp.at &&
	       a->rbx.place == b->rbx.place && a->rbx.at == b->rbx.at;
}

/* As at the call: a jump from here is one to another function. */
bool code_state_is_left(const struct code_state *s)
{
	return s->depth == 8 && !s->by_fp && s->rbp.place != LOST && s->rbx.place != LOST;
}

static struct code_kept *kept_of(struct code_state *s, __u8 reg)
{
	return reg == X86_RBP ? &s->rbp : reg == X86_RBX ? &s->rbx : NULL;
}

/* It has another value now. */
void code_state_overwrite(struct code_state *s, __u8 reg)
{
	struct code_kept *k = kept_of(s, reg);

	if (k && k->place == IN_REGISTER)
		*k = (struct code_kept){ .place = LOST };
	if (reg == X86_RBP)
		s->has_fp = false;
}

/* Of [rsp + value]: which place that is, and where. */
static enum code_place place_of(const struct code_state *s, __s64 value, __s64 *ret_at)
{
	*ret_at = value - (s->by_fp ? s->below : s->depth);
	return s->by_fp ? SAVED_BELOW : SAVED;
}

void code_state_store(struct code_state *s, __u8 reg, __s64 value)
{
	struct code_kept *k = kept_of(s, reg);
	__s64 at;
	enum code_place place = place_of(s, value, &at);

	if (k && k->place == IN_REGISTER && at < 0 && at >= -DEPTH_MAX)
		*k = (struct code_kept){ .place = place, .at = (__s32)at };
}

/* From where it was saved: it is the caller's again. Else it is some other value. */
void code_state_load(struct code_state *s, __u8 reg, __s64 value)
{
	struct code_kept *k = kept_of(s, reg);
	__s64 at;
	enum code_place place = place_of(s, value, &at);

	if (k && k->place == place && k->at == at) {
		*k = (struct code_kept){ .place = IN_REGISTER };
		if (reg == X86_RBP)
			s->has_fp = false;
		return;
	}
	code_state_overwrite(s, reg);
}

static bool set_depth(struct code_state *s, __s64 depth)
{
	if (depth < 8 || depth > DEPTH_MAX)
		return false;
	s->depth = (__s32)depth;
	return true;
}

/* rsp = rsp + value. Above where it was aligned it is nowhere. */
bool code_state_move_sp(struct code_state *s, __s64 value)
{
	__s64 below = s->below - value;

	if (!s->by_fp)
		return set_depth(s, s->depth - value);
	if (below < 0 || below > DEPTH_MAX)
		return false;
	s->below = (__s32)below;
	return true;
}

/* rsp is somewhere else: what was found from there is not any more. */
static void leave_below(struct code_state *s)
{
	s->below = 0;
	if (s->rbp.place == SAVED_BELOW)
		s->rbp.place = LOST;
	if (s->rbx.place == SAVED_BELOW)
		s->rbx.place = LOST;
}

bool code_state_align_sp(struct code_state *s)
{
	leave_below(s);
	s->by_fp = true;
	return s->has_fp;
}

/* rsp = rbp + value. */
bool code_state_sp_from_fp(struct code_state *s, __s64 value)
{
	if (!s->has_fp)
		return false;
	leave_below(s);
	s->by_fp = false;
	return set_depth(s, s->fp_depth - value);
}

bool code_state_pop(struct code_state *s, __u8 reg)
{
	if (reg == X86_RSP)
		return false;
	code_state_load(s, reg, 0);
	return code_state_move_sp(s, 8);
}
#endif
