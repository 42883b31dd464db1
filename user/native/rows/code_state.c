/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/rows/code_state.h"

#include <stddef.h>

#ifdef __x86_64__
/* Deeper than any hand-written frame. */
#define DEPTH_MAX (1 << 20)

static bool copies_same(const struct code_copy *a, const struct code_copy *b)
{
	return a->is == b->is && (!a->is || a->depth == b->depth);
}

bool code_state_same(const struct code_state *a, const struct code_state *b)
{
	return a->depth == b->depth && a->by == b->by && a->below == b->below &&
	       copies_same(&a->fp, &b->fp) && copies_same(&a->base, &b->base) &&
	       a->rbp.place == b->rbp.place && a->rbp.at == b->rbp.at &&
	       a->rbx.place == b->rbx.place && a->rbx.at == b->rbx.at;
}

/* Is the state as at the call? Then a jump goes to another function. */
bool code_state_is_left(const struct code_state *s)
{
	return s->depth == 8 && s->by == X86_RSP && s->rbp.place != LOST && s->rbx.place != LOST;
}

static struct code_kept *kept_of(struct code_state *s, __u8 reg)
{
	return reg == X86_RBP ? &s->rbp : reg == X86_RBX ? &s->rbx : NULL;
}

static struct code_copy *copy_of(struct code_state *s, __u8 reg)
{
	return reg == X86_RBP ? &s->fp : reg == X86_RBX ? &s->base : NULL;
}

bool code_state_is_lost(const struct code_state *s)
{
	return s->by == X86_RBP ? !s->fp.is : s->by == X86_RBX && !s->base.is;
}

__s32 code_state_cfa(const struct code_state *s)
{
	return s->by == X86_RBP ? s->fp.depth : s->by == X86_RBX ? s->base.depth : s->depth;
}

/* The register now has another value. */
void code_state_overwrite(struct code_state *s, __u8 reg)
{
	struct code_kept *k = kept_of(s, reg);
	struct code_copy *copy = copy_of(s, reg);

	if (k && k->place == IN_REGISTER)
		*k = (struct code_kept){ .place = LOST };
	if (copy)
		copy->is = false;
}

void code_state_copy_sp(struct code_state *s, __u8 reg)
{
	struct code_copy *copy = copy_of(s, reg);

	code_state_overwrite(s, reg);
	if (copy && s->by == X86_RSP)
		*copy = (struct code_copy){ .is = true, .depth = s->depth };
}

/* Classifies [rsp + value]: the kind of place, and its offset. */
static enum code_place place_of(const struct code_state *s, __s64 value, __s64 *ret_at)
{
	*ret_at = value - (s->by == X86_RSP ? s->depth : s->below);
	return s->by == X86_RSP ? SAVED : SAVED_BELOW;
}

void code_state_store(struct code_state *s, __u8 reg, __s64 value)
{
	struct code_kept *k = kept_of(s, reg);
	__s64 at;
	enum code_place place = place_of(s, value, &at);

	if (k && k->place == IN_REGISTER && at < 0 && at >= -DEPTH_MAX)
		*k = (struct code_kept){ .place = place, .at = (__s32)at };
}

/*
 * Loaded from where it was saved, the register has the caller's value again. Otherwise it has some
 * other value.
 */
void code_state_load(struct code_state *s, __u8 reg, __s64 value)
{
	struct code_kept *k = kept_of(s, reg);
	__s64 at;
	enum code_place place = place_of(s, value, &at);
	bool is_callers = k && k->place == place && k->at == at;

	code_state_overwrite(s, reg);
	if (is_callers)
		*k = (struct code_kept){ .place = IN_REGISTER };
}

static bool set_depth(struct code_state *s, __s64 depth)
{
	if (depth < 8 || depth > DEPTH_MAX)
		return false;
	s->depth = (__s32)depth;
	return true;
}

/* rsp = rsp + value. Beyond the point where it was aligned its position is unknown. */
bool code_state_move_sp(struct code_state *s, __s64 value)
{
	__s64 below = s->below - value;

	if (s->by == X86_RSP)
		return set_depth(s, s->depth - value);
	if (below < 0 || below > DEPTH_MAX)
		return false;
	s->below = (__s32)below;
	return true;
}

/* rsp moves elsewhere: positions relative to it are no longer known. */
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
	if (s->by == X86_RSP)
		s->by = s->fp.is ? X86_RBP : X86_RBX;
	return !code_state_is_lost(s);
}

/* rsp = reg + value. */
bool code_state_sp_from(struct code_state *s, __u8 reg, __s64 value)
{
	const struct code_copy *copy = copy_of(s, reg);

	if (!copy || !copy->is)
		return false;
	leave_below(s);
	s->by = X86_RSP;
	return set_depth(s, copy->depth - value);
}

bool code_state_pop(struct code_state *s, __u8 reg)
{
	if (reg == X86_RSP)
		return false;
	code_state_load(s, reg, 0);
	return code_state_move_sp(s, 8);
}
#endif
