/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * asyncio_section.h - the section of a sample with asyncio tasks: the one that the thread runs, those that
 * await it, and those outside that run its loop (asyncio_tasks.h).
 *
 * Must hold: a thread that has a slot costs a map lookup only when some process's entry has changed
 * since its last sample, and if no process has one, no thread does. A thread that runs no loop costs
 * two words of memory and a lookup if its process has an entry.
 */
#ifndef KRAIT_BPF_PYTHON_ASYNCIO_SECTION_H
#define KRAIT_BPF_PYTHON_ASYNCIO_SECTION_H

#include "bpf/abi.h"
#include "bpf/bounds.h"
#include "bpf/python/code_object.h"
#include "bpf/python/code_snapshot.h"
#include "bpf/loops.h"
#include "bpf/map/sampling.h"
#include "bpf/map/procs.h"
#include "bpf/python/python_stack.h"
#include "bpf/read.h"
#include "bpf/map/scratch.h"
#include "bpf/section.h"
#include "bpf/python/asyncio_tasks.h"
#include "bpf/python/walker.h"

/*
 * Describes the code object of a part, as for the thread's own frames: code that awaits may never
 * have been sampled on a CPU.
 */
static __always_inline int describe_part(struct scratch *s, const struct py_offsets *off)
{
	struct describer *d = &s->describer;
	__u32 index = d->index;
	__u64 *room = section_room(s, FRAME_WORDS * index, FRAME_WORDS);

	if (index >= d->frame_cnt || !room)
		return 1;
	d->index = index + 1;
	describe_frame(s, off, (struct frame *)room);
	return 0;
}

static long describe_part_loop(__u32 index, void *data)
{
	struct loop_ctx *c = data;

	return describe_part(c->s, c->off);
}

__weak __noinline int bounded_describe_part(__u32 memory, __u32 layout)
{
	struct loop_ctx c;

	return loop_ctx_of(&c, memory, layout) ? describe_part(c.s, c.off) : 1;
}

/*
 * Describes the code objects of the section that comes next. Not called where the parts are found,
 * because the kernel bounds the sum of the stacks of nested calls.
 */
static __always_inline int describe_parts(__u32 memory, __u32 layout, __u32 cnt, bool has_loop)
{
	struct loop_ctx c;

	if (!loop_ctx_of(&c, memory, layout))
		return 1;
	describe_plan(c.s, c.off, cnt);
	c.s->describer.leaf = 0;
	if (has_loop) {
		bpf_loop(KRAIT_MAX_TASK_PARTS, describe_part_loop, &c, 0);
	} else {
		for (int i = 0; i < KRAIT_MAX_TASK_PARTS; i++) {
			if (bounded_describe_part(memory, layout))
				break;
		}
	}
	describe_settle(c.s);
	return 0;
}

GLOBAL_FLAVOURS(describe_parts, (__u32 memory, __u32 layout, __u32 cnt), memory, layout, cnt)

static __always_inline void append_parts(struct scratch *s, enum record_section section, __u32 cnt,
					 bool has_loop)
{
	if (!cnt)
		return;
	CALL_FLAVOUR(has_loop, describe_parts, s->index, s->proc.layout, cnt);
	section_append(&s->record, section, cnt);
}

/* Settles the part of the chain's last task. */
static __always_inline void settle_last_task(struct scratch *s)
{
	__u64 *part = section_room(s, FRAME_WORDS * s->tasks.task_at, FRAME_WORDS);

	task_walk_stop(&s->tasks);
	if (part)
		task_settle(&s->tasks, (struct frame *)part);
}

/* The process's entry; NULL: it has none. */
static __always_inline const struct task_layout *task_layout_of(const struct scratch *s)
{
	__u32 pid = s->record.pid;
	const struct task_layout *l = bpf_map_lookup_elem(&task_layouts, &pid);

	return l && same_start(l->start_ns, s->proc.start_ns) ? l : NULL;
}

/*
 * Looks where thread states of the process point to the running loop; 0: nowhere. The thread's slot
 * remembers it.
 */
__weak __noinline int look_for_tasks(__u32 memory)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);
	__u32 known = tasks_known, at = 0;
	const struct task_layout *l;
	struct thread_slot *slot;

	if (!s)
		return 0;
	l = task_layout_of(s);
	if (l)
		at = l->running_loop;
	slot = slot_of(s);
	if (slot) {
		slot->running_loop = at;
		slot->tasks_known = known;
	}
	return at;
}

static __always_inline __u32 running_loop_at(const struct scratch *s)
{
	const struct thread_slot *slot = slot_of(s);

	if (slot && slot->tasks_known == tasks_known)
		return slot->running_loop;
	return look_for_tasks(s->index);
}

/* Frames, from the leaf on, that say whether the loop enters or leaves the running task. */
#define LEAF_FRAMES 8

/*
 * Where to look for the creator of the first task if that does not run: around the thread's
 * innermost activation. Nowhere if that is the loop's, or has been called by the loop in the course
 * of a step. Who runs the loop is looked for from the thread's innermost frame on.
 */
static __always_inline void look_around_leaf(struct scratch *s)
{
	struct task_walk *t = &s->tasks;
	__u64 entry_addr;

	for (__u32 i = 0; i < LEAF_FRAMES && i < s->walker.frame_cnt; i++) {
		__u64 addr = s->frames[i].frame_addr;

		if (!t->outer_addr)
			t->outer_addr = addr;
		if (s->frames[i].code_addr) {
			if (addr && (__u32)addr == t->calm.caller) {
				if (!task_is_calm(&t->calm, t->met_addr))
					return;
				break;
			}
			continue;
		}
		t->met_addr = addr;
		if (!t->inner_addr)
			t->inner_addr = addr;
	}
	entry_addr = t->inner_addr;
	if (entry_addr < TASK_SEEK_BEFORE || entry_addr & TAG_BITS)
		return;
	t->leaf_addr = entry_addr - TASK_SEEK_BEFORE;
}

static __always_inline void begin_tasks(struct scratch *s, __u64 task_addr)
{
	const struct thread_slot *slot = slot_of(s);

	task_walk_begin(&s->tasks, task_addr, want_task_names);
	if (slot)
		s->tasks.calm = slot->calm;
	look_around_leaf(s);
}

static __always_inline void remember_calm(const struct scratch *s)
{
	struct thread_slot *slot = slot_of(s);

	if (slot && (slot->calm.entry[0] != s->tasks.calm.entry[0] ||
		     slot->calm.caller != s->tasks.calm.caller))
		slot->calm = s->tasks.calm;
}

/*
 * Where a thread is whose loop runs no task: by its innermost frame and activation. A loop waits in the same place each
 * time, so it is asked once whether a task runs it.
 */
static __always_inline __u32 idle_place(const struct task_walk *t)
{
	return (__u32)t->outer_addr ^ (__u32)t->leaf_addr << 1;
}

static __always_inline bool loop_is_known_alone(const struct scratch *s)
{
	const struct thread_slot *slot = slot_of(s);

	return slot && slot->idle == idle_place(&s->tasks);
}

/* A thread whose loop has ended is not asked again until it runs a task. */
static __always_inline void remember_idle(const struct scratch *s, __u32 place)
{
	struct thread_slot *slot = slot_of(s);

	if (!slot || s->tasks.cnt || s->tasks.note)
		return;
	slot->idle = place;
	if (!s->tasks.calm_met && !s->tasks.has_loop)
		slot->calm = (struct task_calm){};
}

/*
 * A task that runs another loop is neither running nor has a loop while that begins and ends. Asked of a thread that has
 * run tasks, or of which nothing is known.
 */
static __always_inline bool has_left_loop(const struct scratch *s)
{
	const struct thread_slot *slot = slot_of(s);

	return slot && (slot->calm.caller || !slot->idle);
}

/* task_addr: 0: none runs. Returns the number of parts found. */
static __always_inline int walk_running_task(__u32 memory, __u32 layout, __u64 task_addr,
					     bool has_loop)
{
	struct loop_ctx c;
	__u32 place;

	if (!loop_ctx_of(&c, memory, layout))
		return 0;
	if (!task_layout_of(c.s))
		return 0;
	begin_tasks(c.s, task_addr);
	place = idle_place(&c.s->tasks);
	if (!task_addr && loop_is_known_alone(c.s))
		return 0;
	walk_tasks(&c, layout, has_loop);
	remember_calm(c.s);
	if (!task_addr)
		remember_idle(c.s, place);
	if (c.s->tasks.cnt)
		settle_last_task(c.s);
	return c.s->tasks.cnt;
}

GLOBAL_FLAVOURS(walk_running_task, (__u32 memory, __u32 layout, __u64 task_addr), memory, layout,
		task_addr)

static __always_inline void take_tasks(struct scratch *s, bool has_loop)
{
	__u32 at = s->record.tstate_addr ? running_loop_at(s) : 0;
	__u64 running[2] = { 0, 0 }; /* loop, task */
	__u32 cnt;

	if (!at || read_user(running, sizeof(running), s->record.tstate_addr + at) ||
	    (!(running[0] | running[1]) && !has_left_loop(s)))
		return;
	s->tasks.has_loop = running[0] != 0;
	cnt = CALL_FLAVOUR(has_loop, walk_running_task, s->index, s->proc.layout, running[1]);
	append_parts(s, SECTION_TASKS, at_most(cnt, KRAIT_MAX_TASK_PARTS), has_loop);
}

#endif /* KRAIT_BPF_PYTHON_ASYNCIO_SECTION_H */
