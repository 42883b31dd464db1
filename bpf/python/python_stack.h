/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * python_stack.h - the Python side of a sample: finds the thread's PyThreadState and its frames.
 *
 * Must hold: only one program at a time uses a thread's slot and anchor. A program that interrupts
 * another one on the same thread, in whatever context, does without them: it searches the lists and
 * walks to the root.
 */
#ifndef KRAIT_BPF_PYTHON_PYTHON_STACK_H
#define KRAIT_BPF_PYTHON_PYTHON_STACK_H

#include "bpf/abi.h"
#include "bpf/python/anchor.h"
#include "bpf/loops.h"
#include "bpf/map/sampling.h"
#include "bpf/read.h"
#include "bpf/map/scratch.h"
#include "bpf/kernel_task.h"
#include "bpf/python/thread.h"
#include "bpf/python/walk.h"
#include "bpf/python/walker.h"

static __always_inline void begin_slot(struct thread_slot *slot, __u64 start_ns)
{
	slot->start_ns = start_ns;
	slot->tstate_addr = 0;
	slot->interp_addr = 0;
	slot->resume_addr = 0;
	slot->frame_cnt = KRAIT_MAX_FRAMES;
	slot->native = 0;
	slot->taken = 0;
	slot->running_loop = 0;
	slot->tasks_known = 0;
	slot->calm = (struct task_calm){};
	slot->idle = 0;
	slot->spared = 0;
}

/*
 * Testing and setting need not be atomic: no other CPU runs the thread, and a program that
 * interrupts this one gives back what it took before this one continues.
 */
static __always_inline void take_thread_maps(struct scratch *s)
{
	__u32 tid = s->record.tid, index;
	__u64 start_ns = s->record.thread_start_ns;
	struct thread_ref *ref = bpf_map_lookup_elem(&threads, &tid);
	struct thread_slot *slot;

	if (!ref || ref->start_ns != start_ns)
		return;
	s->record.flags |= SAMPLE_HAS_SLOT;
	index = ref->slot;
	slot = bpf_map_lookup_elem(&slots, &index);
	if (!slot)
		return;
	if (slot->start_ns != start_ns)
		begin_slot(slot, start_ns);
	if (slot->taken)
		return;
	slot->taken = 1;
	barrier();
	s->slot_index = index;
	s->anchor_index = ref->anchor;
	s->expected = slot->frame_cnt;
}

static __always_inline struct thread_slot *slot_of(const struct scratch *s)
{
	__u32 index = s->slot_index;

	return bpf_map_lookup_elem(&slots, &index);
}

static __always_inline struct anchor *anchor_of(const struct scratch *s)
{
	__u32 index = s->anchor_index;

	return bpf_map_lookup_elem(&anchors, &index);
}

/*
 * Call only after the record has been sent: the next record may be a delta against what this one
 * confirms.
 */
static __always_inline void give_back_thread_maps(struct scratch *s)
{
	struct thread_slot *slot = slot_of(s);

	barrier();
	if (!slot)
		return;
	slot->frame_cnt = s->walker.frame_cnt;
	barrier();
	slot->taken = 0;
}

/* Leaves the thread state in s->search; the returned reason says whether there is one. */
static __always_inline __u32 find_thread(struct loop_ctx *c, bool has_loop)
{
	struct scratch *s = c->s;
	const struct thread_slot *slot = slot_of(s);
	struct thread_search *t = &s->search;
	__u32 reason;

	if (slot && thread_still_valid(t, c->off, slot->tstate_addr, slot->interp_addr))
		return REASON_PYTHON;
	reason = CALL_FLAVOUR(has_loop, search_thread, s->index, s->proc.layout, s->slot_index);
	/* The page of _PyRuntime is not present until the interpreter first writes to it. */
	if (t->interp_addr)
		s->proc.seen |= PROC_SEEN_RUNTIME;
	else if (reason == REASON_RUNTIME_FAULT && !s->proc.seen)
		reason = REASON_NO_RUNTIME;
	return reason;
}

/* Reads the thread's anchor and plans the walk. Reads the epoch last: see anchor.h. */
static __always_inline void plan_anchor(struct scratch *s, struct anchor *anchor,
					const struct py_offsets *off)
{
	struct anchor_plan *plan = &s->plan;

	plan->tstate_addr = s->search.tstate_addr;
	plan->lpf_addr = THREAD_FIELD(&s->search, off, last_profiled_frame);
	plan->seq = THREAD_FIELD(&s->search, off, last_profiled_frame_seq);
	plan->audit_every = audit_every;
	barrier();
	plan->epoch = *(volatile __u64 *)&anchor->epoch;
	anchor_decide(anchor, plan);
	anchor_aim(plan, &s->walker);
}

static __always_inline void note_anchor(struct record_sample *record, const struct scratch *s)
{
	record->anchor = s->plan.note;
	record->anchor_epoch = s->plan.epoch;
	record->anchor_steps = s->plan.steps;
	record->anchor_index = s->walker.mark_index;
}

static __always_inline bool has_anchor(const struct anchor *anchor, const struct py_offsets *off)
{
	return anchor && off->thread.last_profiled_frame != PYOFF_ABSENT;
}

/* Reads where the thread's frames begin, and prepares the walk. */
static __always_inline __u32 begin_walk(struct loop_ctx *c)
{
	struct anchor *anchor = anchor_of(c->s);
	struct thread_search *t = &c->s->search;
	struct record_sample *record = &c->s->record;
	const struct py_offsets *off = c->off;
	struct thread_top top = {};
	__u64 base_addr = 0;

	record->tstate_addr = t->tstate_addr;
	record->interp_addr = t->interp_addr;
	if (off->interp.code_object_generation != PYOFF_ABSENT &&
	    read_user_u64(&record->code_generation,
			  t->interp_addr + off->interp.code_object_generation))
		return REASON_RUNTIME_FAULT;
	if (off->thread.base_frame != PYOFF_ABSENT)
		base_addr = THREAD_FIELD(t, off, base_frame);
	if (thread_top(t, off, &top))
		return REASON_THREAD_FAULT;
	walk_begin(&c->s->walker, top.frame_addr, base_addr, 0);
	walk_begin_cframe(&c->s->walker, t->tstate_addr, top.cframe_addr, top.cframe_previous_addr);
	if (has_anchor(anchor, off))
		plan_anchor(c->s, anchor, off);
	return REASON_PYTHON;
}

/*
 * The walk is between the two global functions begin_python() and end_python(), and not within one,
 * because the kernel bounds the sum of the stacks of nested calls.
 */
static __always_inline int begin_python(__u32 memory, __u32 layout, __u64 thread_ptr, bool has_loop)
{
	struct loop_ctx c;
	struct scratch *s;
	__u32 reason;

	if (!loop_ctx_of(&c, memory, layout))
		return REASON_NO_LAYOUT;
	s = c.s;
	s->record.no_anchors = c.off->thread.last_profiled_frame == PYOFF_ABSENT;
	take_thread_maps(s);
	s->search.thread_ptr = thread_ptr;
	s->search.runtime_addr = s->proc.runtime_addr;
	s->record.thread_ptr = thread_ptr;
	reason = find_thread(&c, has_loop);
	/* Under an emulator this is the pointer of the thread that it emulates. */
	if (reason == REASON_PYTHON)
		s->record.thread_ptr = THREAD_FIELD(&s->search, c.off, thread_id);
	return reason == REASON_PYTHON ? begin_walk(&c) : reason;
}

GLOBAL_FLAVOURS(begin_python, (__u32 memory, __u32 layout, __u64 thread_ptr), memory, layout,
		thread_ptr)

/* After the walk; returns the outcome's reason. */
__weak __noinline int end_python(__u32 memory, __u32 layout)
{
	struct anchor *anchor;
	struct loop_ctx c;
	struct scratch *s;
	__u32 reason;

	if (!loop_ctx_of(&c, memory, layout))
		return REASON_NO_LAYOUT;
	s = c.s;
	anchor = anchor_of(s);
	if (has_anchor(anchor, c.off))
		anchor_shorten(&s->plan, &s->walker);
	reason = s->walker.reason;
	if (has_anchor(anchor, c.off)) {
		anchor_settle(anchor, &s->plan, &s->walker);
		note_anchor(&s->record, s);
	}
	if (reason == REASON_PYTHON &&
	    walk_is_finalizing(&s->walker, c.off, s->search.runtime_addr, s->frames))
		reason = REASON_FINALIZING;
	if (!s->record.no_anchors && s->walker.frame_cnt >= KRAIT_ANCHOR_WORTH &&
	    task_is_dumpable((struct task_struct *)bpf_get_current_task()))
		s->record.flags |= SAMPLE_DUMPABLE;
	return reason;
}

/* Leaves the Python frames in s->frames and returns the outcome's reason. */
static __always_inline __u32 take_python(struct scratch *s, const struct proc_info *proc,
					 const struct current_task *now, bool has_loop)
{
	__u32 layout = proc->layout, reason;

	s->slot_index = KRAIT_NO_SLOT;
	s->anchor_index = KRAIT_NO_ANCHOR;
	s->expected = KRAIT_MAX_FRAMES;
	s->walker.frame_cnt = 0;
	if (layout >= KRAIT_MAX_LAYOUTS)
		return REASON_NO_LAYOUT;
	if (now->is_exiting)
		return REASON_EXITING;
	if (now->is_execing)
		return REASON_EXECING;
	reason = CALL_FLAVOUR(has_loop, begin_python, s->index, layout, now->thread_ptr);
	if (reason != REASON_PYTHON)
		return reason;
	CALL_FLAVOUR(has_loop, walk_frames, s->index, layout);
	reason = end_python(s->index, layout);
	if (reason_outcome(reason) != OUTCOME_LOST)
		CALL_FLAVOUR(has_loop, describe_frames, s->index, layout);
	return reason;
}

#endif /* KRAIT_BPF_PYTHON_PYTHON_STACK_H */
