/* SPDX-License-Identifier: BSD-2-Clause */
#include "python/walk/stack_walk.h"

#include <string.h>

#include "bpf/python/fingerprint.h"
#include "bpf/read.h"
#include "bpf/python/thread.h"
#include "bpf/python/walk.h"

static void result_begin(struct stack_walk_result *ret)
{
	ret->reason = REASON_THREAD_FAULT;
	ret->frame_cnt = 0;
	ret->tstate_addr = ret->interp_addr = 0;
}

static void search_begin(const struct stack_walk *x, struct thread_search *t, __u64 thread_ptr)
{
	memset(t, x->garbage, sizeof(*t));
	t->memory = x->memory;
	t->thread_ptr = thread_ptr;
	t->number = x->number;
	t->runtime_addr = x->runtime_addr;
	t->steps = 0;
	t->left = x->search_part ? x->search_part : KRAIT_MAX_THREADS;
}

/* Walks the frames of the thread state in the window. */
static enum reason walk(const struct stack_walk *x, struct thread_search *t,
			struct stack_walk_result *ret)
{
	const struct py_offsets *off = x->offsets;
	struct thread_top top;
	struct walker w;
	__u64 base_addr = 0;

	memset(&w, x->garbage, sizeof(w));
	w.memory = x->memory;
	if (off->thread.base_frame != PYOFF_ABSENT)
		base_addr = THREAD_FIELD(t, off, base_frame);
	if (thread_top(t, off, &top))
		return REASON_THREAD_FAULT;
	walk_begin(&w, top.frame_addr, base_addr, x->fingerprints);
	walk_begin_cframe(&w, ret->tstate_addr, top.cframe_addr, top.cframe_previous_addr);
	w.reason = REASON_DEPTH;
	for (int i = 0; i <= KRAIT_MAX_FRAMES; i++) {
		if (walk_step(&w, off, ret->frames))
			break;
	}
	ret->frame_cnt = w.frame_cnt;
	if (w.reason == REASON_PYTHON && walk_is_finalizing(&w, off, x->runtime_addr, ret->frames))
		return REASON_FINALIZING;
	return w.reason;
}

void stack_walk_state(const struct stack_walk *x, __u64 tstate_addr, struct stack_walk_result *ret)
{
	struct thread_search t;

	search_begin(x, &t, 0);
	result_begin(ret);
	ret->tstate_addr = tstate_addr;
	if (!thread_window(&t, tstate_addr))
		ret->reason = walk(x, &t, ret);
}

void stack_walk_chain(const struct stack_walk *x, __u64 frame_addr, struct stack_walk_result *ret)
{
	struct walker w;

	result_begin(ret);
	memset(&w, x->garbage, sizeof(w));
	w.memory = x->memory;
	walk_begin(&w, frame_addr, 0, x->fingerprints);
	w.reason = REASON_DEPTH;
	for (int i = 0; i <= KRAIT_MAX_FRAMES; i++) {
		w.entry_due = 0;
		if (walk_step(&w, x->offsets, ret->frames))
			break;
	}
	ret->frame_cnt = w.frame_cnt;
	ret->reason = w.reason;
	/* Nothing is missing if the chain has no entry frame at its end, or none at all. */
	if (w.reason == REASON_NO_BASE || w.reason == REASON_SWITCHING)
		ret->reason = REASON_PYTHON;
}

static void steps(const struct stack_walk *x, struct thread_search *t)
{
	for (int i = 0; i < KRAIT_MAX_THREADS; i++) {
		if (thread_step(t, x->offsets))
			break;
	}
}

void stack_walk_search(const struct stack_walk *x, __u64 thread_ptr, struct stack_walk_result *ret)
{
	struct thread_search t;

	search_begin(x, &t, thread_ptr);
	result_begin(ret);
	if (!thread_search_begin(&t, x->offsets, x->runtime_addr))
		steps(x, &t);
	ret->reason = t.reason;
	ret->tstate_addr = t.tstate_addr;
	ret->interp_addr = t.interp_addr;
}

bool stack_walk_still_valid(const struct stack_walk *x, __u64 thread_ptr, __u64 tstate_addr,
			    __u64 interp_addr)
{
	struct thread_search t;

	search_begin(x, &t, thread_ptr);
	return thread_still_valid(&t, x->offsets, tstate_addr, interp_addr);
}

static enum reason find_thread(const struct stack_walk *x, struct thread_search *t,
			       struct thread_slot *slot)
{
	const struct py_offsets *off = x->offsets;

	if (slot && thread_still_valid(t, off, slot->tstate_addr, slot->interp_addr))
		return REASON_PYTHON;
	if (slot && thread_still_native(t, off, slot))
		return REASON_NATIVE_THREAD;
	for (int attempt = 0; attempt < 2; attempt++) {
		if (!thread_search_resume(t, off, attempt ? NULL : slot))
			steps(x, t);
		if (!thread_search_again(t))
			break;
	}
	thread_search_settle(t, off, slot);
	return t->reason;
}

void stack_walk_thread(const struct stack_walk *x, __u64 thread_ptr, struct thread_slot *slot,
		       struct stack_walk_result *ret)
{
	const __s32 generation_off = x->offsets->interp.code_object_generation;
	struct thread_search t;
	__u64 generation;

	search_begin(x, &t, thread_ptr);
	result_begin(ret);
	ret->reason = find_thread(x, &t, slot);
	if (ret->reason != REASON_PYTHON)
		return;
	ret->tstate_addr = t.tstate_addr;
	ret->interp_addr = t.interp_addr;
	/* The kernel records it together with the frames: without it their names cannot be trusted. */
	if (generation_off != PYOFF_ABSENT &&
	    memory_read(x->memory, t.interp_addr + (__u64)generation_off, &generation,
			sizeof(generation)))
		ret->reason = REASON_RUNTIME_FAULT;
	else
		ret->reason = walk(x, &t, ret);
}
