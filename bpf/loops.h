/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * loops.h - the loops of the sampling program, each in two flavours.
 *
 * A step (thread_step(), walk_step() ...) does one iteration and says when the loop is over.
 * bpf_loop() (5.17+) calls it from a callback that is verified once; the bounded for loop runs on
 * older kernels.
 *
 * Must hold: both flavours call the same step, so they find the same.
 */
#ifndef KRAIT_BPF_LOOPS_H
#define KRAIT_BPF_LOOPS_H

#include "bpf/abi.h"
#include "bpf/python/code_snapshot.h"
#include "bpf/python/greenlets.h"
#include "bpf/map/sampling.h"
#include "bpf/native/walk_state.h"
#include "bpf/native/pages.h"
#include "bpf/map/procs.h"
#include "bpf/read.h"
#include "bpf/map/room.h"
#include "bpf/native/rows.h"
#include "bpf/map/scratch.h"
#include "bpf/section.h"
#include "bpf/share.h"
#include "bpf/kernel_task.h"
#include "bpf/python/asyncio_tasks.h"
#include "bpf/python/thread.h"
#include "bpf/native/trail.h"
#include "bpf/native/unwind.h"
#include "bpf/native/unwind_find.h"
#include "bpf/map/unwind_maps.h"
#include "bpf/map/unwind_procs.h"
#include "bpf/python/walk.h"
#include "bpf/python/walker.h"

#define NATIVE_WORDS (sizeof(struct native_frame) / sizeof(__u64))

/* Context of the loop callbacks; map values, so the verifier tracks them. */
struct loop_ctx {
	struct scratch *s;
	const struct py_offsets *off;
};

static __always_inline bool walk_wants_opcodes(const struct walker *w)
{
	return want_opcodes;
}

/* Reading a page costs as much as reading two or three frames one by one. */
#define WALK_PAGE_FRAMES 4

/*
 * Is the page worth reading? For activations it is: they lie on the C stack, which the native walk
 * then reads anyway. For Python frames it is if enough are still to come, judging by the previous
 * walk; above an anchor there are often too few.
 */
static __always_inline bool walk_wants_page(struct scratch *s, __u64 addr, bool activation)
{
	__u32 left = s->expected - s->walker.frame_cnt;

	if (activation)
		return want_native;
	/* No "and": the verifier would follow both branches at each frame. */
	return pages_is_asked(&s->native.stack, addr) &
	       (left - WALK_PAGE_FRAMES < KRAIT_MAX_FRAMES);
}

__weak __noinline int unwind_fill_apart(__u32 memory, __u64 addr)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);

	return s ? pages_fill(&s->native.stack, addr) : -1;
}

static __always_inline int walk_read(struct walker *w, __u8 *window, __u32 size, __u64 addr,
				     bool activation)
{
	struct scratch *s = (void *)w - __builtin_offsetof(struct scratch, walker);
	struct pages *p = &s->native.stack;

	if (!pages_may_have(addr, size))
		return read_user(window, size, addr);
	if (!pages_has(p, addr)) {
		if (!walk_wants_page(s, addr, activation) || unwind_fill_apart(s->index, addr))
			return read_user(window, size, addr);
	}
	pages_window(p, window, size, addr);
	return 0;
}

static long thread_loop(__u32 index, void *data)
{
	struct loop_ctx *c = data;

	return thread_step(&c->s->search, c->off);
}

static long walk_loop(__u32 index, void *data)
{
	struct loop_ctx *c = data;

	return walk_step(&c->s->walker, c->off, c->s->frames);
}

/* Frames equal to those of the previous walk that are taken over at once: the verifier follows each. */
#define NATIVE_RUN 2

/* Room for a native frame behind the Python frames and the earlier native frames; or NULL. */
static __always_inline struct native_frame *native_room(struct scratch *s)
{
	return (struct native_frame *)section_room(s, NATIVE_WORDS * s->native.cnt, NATIVE_WORDS);
}

/*
 * Appends a run of native frames. Returns 1 when the walk is over, -1 if the next frame is another than the previous
 * walk's. A global function, apart from the step: the verifier would follow that from each of the ways out of here.
 */
__weak __noinline int native_follow(__u32 memory)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);
	struct native_frame *room;
	int ret = 0;

	if (!s)
		return 1;
	for (int i = 0; i < NATIVE_RUN && !ret; i++) {
		room = native_room(s);
		ret = room ? unwind_follow(&s->native, room) : 1;
	}
	return ret;
}

/*
 * Steps of a callback: with a callback each, 30 frames take 0.26 us more than with four (measured: 6.18, EPYC). Three
 * already have too many paths for the verifier if clang 13 compiles them.
 */
#define DESCRIBE_STEPS 2

static long describe_loop(__u32 index, void *data)
{
	struct loop_ctx *c = data;

	/* As a loop clang 14 makes its counter a bit of memory, which verifiers do not follow. */
#pragma unroll
	for (int i = 0; i < DESCRIBE_STEPS; i++) {
		if (describe_step(c->s, c->off))
			return 1;
	}
	return 0;
}

/* A step along the chain of tasks that looks at the stack. As a global function it is verified once. */
__weak __noinline int task_stack_apart(__u32 memory, __u32 layout)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);
	const struct py_offsets *off = layout_at(layout);
	const struct task_layout *l;
	__u64 *part;
	__u32 pid;

	if (!s)
		return 1;
	pid = s->record.pid;
	l = bpf_map_lookup_elem(&task_layouts, &pid);
	part = section_room(s, FRAME_WORDS * s->tasks.task_at, FRAME_WORDS);
	if (!l || !part)
		return 1;
	return task_stack_step(&s->tasks, &s->walker, off, l, (struct frame *)part);
}

/* Any other step along it, which is appended to the record. Returns 1 at the end. */
__weak __noinline int task_step_apart(__u32 memory, __u32 layout)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);
	const struct py_offsets *off = layout_at(layout);
	const struct task_layout *l;
	__u64 *out, *part;
	__u32 pid;

	if (!s)
		return 1;
	pid = s->record.pid;
	l = bpf_map_lookup_elem(&task_layouts, &pid);
	out = section_room(s, FRAME_WORDS * s->tasks.cnt, FRAME_WORDS);
	part = section_room(s, FRAME_WORDS * s->tasks.task_at, FRAME_WORDS);
	if (!l || !out || !part)
		return 1;
	return task_step(&s->tasks, &s->walker, off, l, (struct frame *)out, (struct frame *)part);
}

struct task_loop_ctx {
	const struct task_walk *walk;
	__u32 memory, layout;
};

/* The kernel bounds the sum of the stacks of nested calls: this one needs next to none. */
static __always_inline int tasks_next(const struct task_loop_ctx *t)
{
	return task_looks_at_stack(t->walk) ? task_stack_apart(t->memory, t->layout) :
					      task_step_apart(t->memory, t->layout);
}

static long task_loop(__u32 index, void *data)
{
	return tasks_next(data) ? 1 : 0;
}

__weak __noinline int bounded_task_step(__u32 memory, __u32 layout)
{
	const struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);
	struct task_loop_ctx t = { .memory = memory, .layout = layout };

	if (!s)
		return 1;
	t.walk = &s->tasks;
	return tasks_next(&t);
}

/*
 * Without bpf_loop() the verifier walks every iteration. A step as a global function is verified once
 * (5.6+) and costs an iteration a handful of instructions; it takes scalars only.
 */
#define BOUNDED_THREADS 1024

static __always_inline int loop_ctx_of(struct loop_ctx *c, __u32 memory, __u32 layout)
{
	c->s = bpf_map_lookup_elem(&scratch, &memory);
	c->off = layout_at(layout);
	return c->s != NULL;
}

/* Takes one step along a greenlet's parents and appends it to the record. Returns 1 at the end. */
static __always_inline int greenlets_next(struct scratch *s, const struct py_offsets *off,
					  const struct greenlet_place *l)
{
	struct greenlet_walk *g = &s->greenlets;
	__u64 *out = section_room(s, FRAME_WORDS * g->cnt, FRAME_WORDS);
	__u64 *part = section_room(s, FRAME_WORDS * g->at, FRAME_WORDS);

	if (!out || !part)
		return 1;
	return greenlet_step(g, &s->walker, off, l, (struct frame *)out, (struct frame *)part);
}

/* As a global function it is verified once. */
__weak __noinline int bounded_greenlet_step(__u32 memory, __u32 layout)
{
	const struct greenlet_place *l;
	struct loop_ctx c;
	__u32 pid;

	if (!loop_ctx_of(&c, memory, layout))
		return 1;
	pid = c.s->record.pid;
	l = bpf_map_lookup_elem(&greenlet_places, &pid);
	return l ? greenlets_next(c.s, c.off, l) : 1;
}

struct greenlet_loop_ctx {
	__u32 memory, layout;
};

static long greenlet_loop(__u32 index, void *data)
{
	struct greenlet_loop_ctx *g = data;

	return bounded_greenlet_step(g->memory, g->layout) ? 1 : 0;
}

__weak __noinline int bounded_thread_step(__u32 memory, __u32 layout)
{
	struct loop_ctx c;

	return loop_ctx_of(&c, memory, layout) ? thread_step(&c.s->search, c.off) : 1;
}

__weak __noinline int bounded_walk_step(__u32 memory, __u32 layout)
{
	struct loop_ctx c;

	return loop_ctx_of(&c, memory, layout) ? walk_step(&c.s->walker, c.off, c.s->frames) : 1;
}

__weak __noinline int bounded_describe_step(__u32 memory, __u32 layout)
{
	struct loop_ctx c;

	return loop_ctx_of(&c, memory, layout) ? describe_step(c.s, c.off) : 1;
}

__weak __noinline int unwind_look_up_apart(__u32 memory, __u64 ip)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);

	return s ? unwind_look_up(&s->native, ip) : -1;
}

__weak __noinline int unwind_settle_apart(__u32 memory)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);

	return s ? unwind_settle_step(&s->native) : -1;
}

__weak __noinline int unwind_note_rule_apart(__u32 memory, __u64 cfa)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);

	return s ? unwind_note_rule(&s->native, cfa) : -1;
}

__weak __noinline int unwind_turn_apart(__u32 memory, __u32 bit)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);

	return s ? unwind_search_turn(&s->native, bit) : -1;
}

__weak __noinline int unwind_read_apart(__u32 memory, __u64 addr)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);

	return s ? unwind_read_word(&s->native, addr) : -1;
}

/* The same of one native frame. */
__weak __noinline int native_step(__u32 memory)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);
	struct native_frame *room = s ? native_room(s) : NULL;

	return room ? unwind_step(&s->native, room) : 1;
}

static __always_inline int native_next(__u32 memory)
{
	int ret = native_follow(memory);

	return ret < 0 ? native_step(memory) : ret;
}

/* Without bpf_loop() the verifier follows every iteration: so there is one way through each. */
__weak __noinline int bounded_native_step(__u32 memory)
{
	return native_next(memory);
}

static long native_loop(__u32 index, void *data)
{
	return native_next(*(__u32 *)data) ? 1 : 0;
}

/* Begins a walk with the registers in s->native: looks up the tables of its process. */
__weak __noinline int native_enter(__u32 memory)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);

	if (!s)
		return -1;
	s->native.now = (__u32)(s->record.time_ns >> UNWIND_NOW_SHIFT);
	s->native.epoch = unwind_epoch();
	s->native.context = memory;
	unwind_enter(&s->native, unwind_space_of(s->record.pid, s->proc.start_ns));
	unwind_find_trail(&s->native);
	return 0;
}

/* Ends the walk. If the tables changed meanwhile, anything it read may be wrong except the leaf. */
__weak __noinline int native_leave(__u32 memory)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);
	bool valid;

	if (!s)
		return -1;
	valid = unwind_epoch() == s->native.epoch;
	unwind_leave_trail(&s->native, valid);
	s->record.native_reason = s->native.reason;
	if (!valid) {
		s->record.native_reason = NATIVE_CHANGED;
		s->native.cnt = 0;
	}
	if (s->native.flags & UNWIND_UNMAPPED)
		s->record.flags |= SAMPLE_UNMAPPED;
	return 0;
}

/*
 * Defines both flavours of a function, NAME_loop() and NAME_bounded(), as global functions: the verifier
 * checks each once, apart from the code that calls it. params: in parentheses; after them their names.
 */
#define GLOBAL_FLAVOURS(name, params, ...)                                                         \
	__weak __noinline int name##_loop params                                                   \
	{                                                                                          \
		return name(__VA_ARGS__, true);                                                    \
	}                                                                                          \
	__weak __noinline int name##_bounded params                                                \
	{                                                                                          \
		return name(__VA_ARGS__, false);                                                   \
	}
#define CALL_FLAVOUR(has_loop, name, ...)                                                          \
	((has_loop) ? name##_loop(__VA_ARGS__) : name##_bounded(__VA_ARGS__))

/* Few samples need it, and two places call it, so it is verified once. */
__weak __noinline int thread_list_apart(__u32 memory, __u32 layout, __u64 interp_addr,
					__u64 head_addr, __u64 head_next_addr)
{
	struct loop_ctx c;

	return loop_ctx_of(&c, memory, layout) &&
	       thread_list_is_same(&c.s->search, c.off, interp_addr, head_addr, head_next_addr);
}

static __always_inline void search_threads(struct loop_ctx *c, __u32 memory, __u32 layout,
					   bool has_loop)
{
	if (has_loop) {
		bpf_loop(KRAIT_MAX_THREADS, thread_loop, c, 0);
		return;
	}
	for (int i = 0; i < BOUNDED_THREADS; i++) {
		if (bounded_thread_step(memory, layout))
			return;
	}
}

/* One attempt. index: of the slot that says where to go on; KRAIT_NO_SLOT: at the beginning. */
static __always_inline int search_once(__u32 memory, __u32 layout, __u32 index, bool has_loop)
{
	const struct thread_slot *slot = bpf_map_lookup_elem(&slots, &index);
	struct loop_ctx c;

	if (loop_ctx_of(&c, memory, layout) && !thread_search_resume(&c.s->search, c.off, slot))
		search_threads(&c, memory, layout, has_loop);
	return 0;
}

GLOBAL_FLAVOURS(search_once, (__u32 memory, __u32 layout, __u32 index), memory, layout, index)

/*
 * Searches the lists for a thread whose state is not remembered. index: of the thread's slot, or
 * KRAIT_NO_SLOT.
 */
static __always_inline int search_thread(__u32 memory, __u32 layout, __u32 index, bool has_loop)
{
	struct thread_slot *slot = bpf_map_lookup_elem(&slots, &index);
	struct thread_search *t;
	struct proc_info *proc;
	struct loop_ctx c;
	__u64 now_ns;

	if (!loop_ctx_of(&c, memory, layout))
		return REASON_NO_LAYOUT;
	t = &c.s->search;
	t->place = memory;
	t->layout = layout;
	now_ns = c.s->record.time_ns;
	proc = &c.s->proc;
	t->number = proc->seen & PROC_SEEN_POINTER ? 0 : current_ns_tid();
	if (slot && thread_still_native(t, c.off, slot))
		return REASON_NATIVE_THREAD;
	thread_search_allow(t, proc, now_ns);
	CALL_FLAVOUR(has_loop, search_once, memory, layout, index);
	if (thread_search_again(t))
		CALL_FLAVOUR(has_loop, search_once, memory, layout, KRAIT_NO_SLOT);
	thread_search_pay(t, proc, now_ns);
	count_more(COUNTER_THREAD_STEPS, t->steps);
	thread_search_settle(t, c.off, slot);
	if (t->reason == REASON_PYTHON &&
	    THREAD_IS(THREAD_FIELD(t, c.off, thread_id), t->thread_ptr))
		proc->seen |= PROC_SEEN_POINTER;
	return t->reason;
}

GLOBAL_FLAVOURS(search_thread, (__u32 memory, __u32 layout, __u32 index), memory, layout, index)

static __always_inline int walk_frames(__u32 memory, __u32 layout, bool has_loop)
{
	struct owner_books *books = owner_books();
	__u32 max = frames_max, own = 0;
	struct loop_ctx c;

	if (!loop_ctx_of(&c, memory, layout))
		return -1;
	c.s->walker.reason = REASON_DEPTH;
	if (books)
		own = owner_use(books, c.s->record.owner)->frames_max;
	if (own && own < max)
		max = own;
	if (has_loop) {
		bpf_loop(max < KRAIT_MAX_FRAMES ? max + 1 : KRAIT_MAX_FRAMES + 1, walk_loop, &c, 0);
		return 0;
	}
	for (int i = 0; i <= KRAIT_MAX_FRAMES; i++) {
		if (bounded_walk_step(memory, layout))
			break;
	}
	return 0;
}

GLOBAL_FLAVOURS(walk_frames, (__u32 memory, __u32 layout), memory, layout)

/* Apart, because the kernel bounds the sum of the stacks of nested calls: the steps need the most. */
__weak __noinline int describe_begin(__u32 memory, __u32 layout)
{
	struct loop_ctx c;

	if (!loop_ctx_of(&c, memory, layout))
		return -1;
	describe_plan(c.s, c.off, c.s->walker.frame_cnt);
	return 0;
}

__weak __noinline int describe_end(__u32 memory)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);

	if (s)
		describe_settle(s);
	return 0;
}

static __always_inline int describe_frames_in_loop(__u32 memory, __u32 layout)
{
	struct loop_ctx c;

	if (describe_begin(memory, layout) || !loop_ctx_of(&c, memory, layout))
		return -1;
	bpf_loop(KRAIT_MAX_FRAMES / DESCRIBE_STEPS, describe_loop, &c, 0);
	return describe_end(memory);
}

/* Called after the walk, so that only the frames above an anchor need describing. */
static __always_inline int describe_frames(__u32 memory, __u32 layout, bool has_loop)
{
	if (has_loop)
		return describe_frames_in_loop(memory, layout);
	if (describe_begin(memory, layout))
		return -1;
	for (int i = 0; i < KRAIT_MAX_FRAMES; i++) {
		if (bounded_describe_step(memory, layout))
			break;
	}
	return describe_end(memory);
}

GLOBAL_FLAVOURS(describe_frames, (__u32 memory, __u32 layout), memory, layout)

static __always_inline void walk_tasks(struct loop_ctx *c, __u32 layout, bool has_loop)
{
	struct task_loop_ctx t = { &c->s->tasks, c->s->index, layout };

	if (has_loop) {
		bpf_loop(KRAIT_MAX_TASK_STEPS, task_loop, &t, 0);
		return;
	}
	for (int i = 0; i < KRAIT_MAX_TASK_STEPS; i++) {
		if (bounded_task_step(t.memory, layout))
			return;
	}
}

static __always_inline void walk_greenlets(struct loop_ctx *c, __u32 layout, bool has_loop)
{
	struct greenlet_loop_ctx g = { c->s->index, layout };

	if (has_loop) {
		bpf_loop(KRAIT_MAX_GREENLET_STEPS, greenlet_loop, &g, 0);
		return;
	}
	for (int i = 0; i < KRAIT_MAX_GREENLET_STEPS; i++) {
		if (bounded_greenlet_step(g.memory, layout))
			return;
	}
}

/* Appends the native frames to the record, starting from s->native. */
static __always_inline void walk_native_frames(struct loop_ctx *c, bool has_loop)
{
	__u32 memory = c->s->index;

	if (has_loop) {
		bpf_loop(KRAIT_MAX_NATIVE, native_loop, &memory, 0);
		return;
	}
	for (int i = 0; i < KRAIT_MAX_NATIVE; i++) {
		if (bounded_native_step(memory))
			return;
	}
}

#endif /* KRAIT_BPF_LOOPS_H */
