/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/native_stack.h"

#include "process/space/modules.h"
#include "kernel/sampler/record.h"
#include "record/stack/join.h"
#include "native/names/native.h"

void native_stack_clear(struct native_stack *s, struct native *native)
{
	s->native = native;
	s->cnt = 0;
	s->evaluator = JOIN_NONE;
	s->evals_known = KRAIT_MAX_NATIVE;
	s->has_frame = false;
	s->missed_made = false;
}

/* A return address may be the first instruction of another function: the call is before that. */
__u64 native_stack_place(const struct native_stack *s, __u32 i)
{
	return s->frames[i].ip - (i > 0);
}

static bool is_made(const struct module *module)
{
	return module && !*module__name(module);
}

/*
 * A file normally has rows, and code in it that lacks them need not keep a frame pointer. A JIT's
 * code has no file.
 */
static bool need_not_keep_fp(const struct module *module)
{
	return module && *module__name(module);
}

/*
 * Verifies what only a frame pointer says: if a caller's address is in no code, the frame above has
 * something else in that register, and the chain ends there.
 */
void native_stack_take(struct native_stack *s, const struct record_sample *record,
		       enum native_reason *reason)
{
	__u32 cnt;
	const struct native_frame *frames = record__section(record, SECTION_NATIVE, &cnt);
	bool by_fp, later;

	for (__u32 i = 0; i < cnt; i++) {
		s->frames[i] =
			(struct native_frame){ frames[i].ip, frames[i].frame_addr & ~NATIVE_BY_FP };
		by_fp = i && frames[i - 1].frame_addr & NATIVE_BY_FP;
		/* The leaf, and what a row led to, must be code. */
		s->modules[i] =
			native__module(s->native, native_stack_place(s, i), record->time_ns, by_fp);
		if (is_made(s->modules[i]) &&
		    (!frames[i].frame_addr || frames[i].frame_addr & NATIVE_BY_FP))
			s->missed_made = true;
		if (!s->modules[i] && by_fp) {
			s->frames[i - 1].frame_addr = 0;
			*reason = NATIVE_NO_FRAME_POINTER;
			break;
		}
		s->origins[i] = s->modules[i] ? native__origin(s->native, s->modules[i],
							       native_stack_place(s, i), &later) :
						ORIGIN_OTHER;
		if (s->modules[i] && later && s->evals_known > i)
			s->evals_known = i;
		s->guessed[i] = false;
		if (by_fp)
			s->guessed[i - 1] = need_not_keep_fp(s->modules[i - 1]);
		s->cnt = i + 1;
	}
}

/*
 * Finds generated code that the interpreter has called: its JIT (3.13+), or the trampolines of -X
 * perf (3.12+). Both belong to it. With other JITs there is a library in between.
 */
static void find_made_code(struct native_stack *s)
{
	for (__u32 i = s->cnt; i-- > 1;) {
		if (s->origins[i] == ORIGIN_INTERPRETER && is_made(s->modules[i - 1]))
			s->origins[i - 1] = ORIGIN_INTERPRETER;
	}
}

/*
 * Finds the native frame of CPython's JIT if its callers are unknown (3.14 keeps no frame pointer
 * there). In some samples registers identify it, and from then on its pages do. Returns JOIN_NONE
 * if there is none.
 */
static __u32 find_jit(struct native_stack *s, bool frame_in_regs)
{
	if (s->cnt && is_made(s->modules[0]) && frame_in_regs)
		native__found_jit(s->native, s->frames[0].ip);
	for (__u32 i = 0; i < s->cnt; i++) {
		if (!is_made(s->modules[i]) || !native__is_jit(s->native, native_stack_place(s, i)))
			continue;
		s->origins[i] = ORIGIN_INTERPRETER;
		return i;
	}
	return JOIN_NONE;
}

static void find_evals(struct native_stack *s)
{
	bool later = false;

	for (__u32 i = 0; i < s->cnt; i++) {
		s->evals[i] = s->origins[i] == ORIGIN_INTERPRETER &&
			      native__is_eval(s->native, native_stack_place(s, i), &later);
		if (later && s->evals_known > i)
			s->evals_known = i;
	}
}

/* An evaluation whose frame is not in the chain only checks whether it may begin and how it ends. */
static bool has_frame(const struct native_stack *s)
{
	__u32 i = 0;

	while (i < s->cnt && !s->evals[i])
		i++;
	if (!i || i == s->cnt || i > s->evals_known)
		return false;
	return s->origins[i - 1] != ORIGIN_INTERPRETER ||
	       !native__may_check_call(s->native, native_stack_place(s, i - 1));
}

void native_stack_find_roles(struct native_stack *s, const struct record_sample *record, bool evals)
{
	find_made_code(s);
	s->evaluator = find_jit(s, record->flags & SAMPLE_IN_FRAME);
	if (!evals)
		return;
	find_evals(s);
	s->has_frame = has_frame(s);
}
