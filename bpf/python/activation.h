/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * activation.h - finds what the interpreter has in registers only, where C code is just entering it
 * or a frame is just entered or left.
 *
 * In CPython 3.11 and 3.12 _PyEval_EvalFrameDefault() (Python/ceval.c) publishes the _PyCFrame of a
 * new activation some instructions before it fills it. Until then compilers keep the address of the
 * previous one in a vector register, which no BPF program can read. But the previous one belongs to
 * a call of the same function further down the C stack, so it is as far below the end of that C
 * frame as the new one is below the end of its own. The new one's C frame is the leaf, because the
 * function calls nothing before it has filled the _PyCFrame.
 *
 * Must hold: the address found this way is a guess. A walk from it is believed only if it is whole,
 * that is if it leads through each activation below (walk.h). An activation that has already ended
 * leads there, too, while its caller still runs what it ran then; but then the frame of the new
 * activation lies where the old one's did.
 */
#ifndef KRAIT_BPF_PYTHON_ACTIVATION_H
#define KRAIT_BPF_PYTHON_ACTIVATION_H

#include "bpf/abi.h"
#include "bpf/loops.h"
#include "bpf/map/sampling.h"
#include "bpf/native/native_section.h"
#include "bpf/native/walk_state.h"
#include "bpf/read.h"
#include "bpf/map/scratch.h"
#include "bpf/section.h"
#include "bpf/kernel_task.h"
#include "bpf/python/thread.h"
#include "bpf/trigger.h"
#include "bpf/python/walk.h"
#include "bpf/python/walker.h"

/* C frames to look at, and bytes of the leaf's frame. */
#define ACTIVATION_FRAMES 64
#define ACTIVATION_LEAF_BYTES 4096

/*
 * Where a C frame ends; 0 if unknown. s->native has stored the frames at the start of the record's
 * sections.
 */
static __always_inline __u64 native_frame_end(struct scratch *s, __u32 index)
{
	const struct native_frame *f =
		(const void *)section_room(s, NATIVE_WORDS * index, NATIVE_WORDS);

	return f && index < s->native.cnt && !(f->frame_addr & NATIVE_BY_FP) ? f->frame_addr : 0;
}

/* Can addr hold an activation that has made a call? */
static __always_inline bool activation_is_there(struct thread_search *t,
						const struct py_offsets *off, __u64 addr,
						struct thread_top *ret)
{
	if (thread_activation(t, off, addr, ret))
		return false;
	return ret->frame_addr && !((ret->frame_addr | ret->cframe_previous_addr) & TAG_BITS) &&
	       (ret->cframe_previous_addr > addr ||
		ret->cframe_previous_addr - t->tstate_addr < KRAIT_CFRAME_THREAD);
}

struct activation_search {
	struct loop_ctx c;
	__u64 found;
	__u64 end; /* where the last C frame looked at ends */
	__u64 below; /* how far below the end of its C frame an activation lies */
	struct thread_top top; /* of the activation that was found */
};

/* Looks at the C frame with that index, the next one. Returns 1 when the search is over. */
static __always_inline int activation_step(struct activation_search *a, __u32 index)
{
	struct scratch *s = a->c.s;
	__u64 begin = a->end;

	a->end = native_frame_end(s, index);
	if (a->end <= begin)
		return 1;
	if (a->end - begin >= a->below)
		a->found = activation_is_there(&s->search, a->c.off, a->end - a->below, &a->top);
	return a->found;
}

static long activation_loop(__u32 index, void *data)
{
	return activation_step(data, index + 1) ? 1 : 0;
}

/* Finds the activation that called the thread's newest one. Returns 0, or -1 if none is visible. */
static __always_inline int activation_before(struct activation_search *a, bool has_loop)
{
	struct scratch *s = a->c.s;

	a->end = native_frame_end(s, 0);
	a->below = a->end - THREAD_FIELD(&s->search, a->c.off, cframe);
	if (a->below - 1 >= ACTIVATION_LEAF_BYTES)
		return -1;
	if (has_loop) {
		bpf_loop(ACTIVATION_FRAMES - 1, activation_loop, a, 0);
	} else {
		for (__u32 i = 1; i < ACTIVATION_FRAMES; i++) {
			if (activation_step(a, i))
				break;
		}
	}
	return a->found ? 0 : -1;
}

/* Prepares the walk from there. Returns 0, or -1. */
static __always_inline int begin_activation(__u32 memory, __u32 layout, bool has_loop)
{
	struct activation_search a = {};

	if (!loop_ctx_of(&a.c, memory, layout))
		return -1;
	if (activation_before(&a, has_loop))
		return -1;
	walk_begin(&a.c.s->walker, a.top.frame_addr, 0, 0);
	walk_begin_cframe(&a.c.s->walker, a.c.s->search.tstate_addr, a.top.cframe_addr,
			  a.top.cframe_previous_addr);
	return 0;
}

GLOBAL_FLAVOURS(begin_activation, (__u32 memory, __u32 layout), memory, layout)

/* ---- callers in registers ----------------------------------------------------------------------- */

/* PyThreadState.datastack_top, from cframe on; co_framesize, in words, from co_firstlineno on (3.12). */
#define DATASTACK_TOP 184
#define FRAME_SIZE 8
/* An entry frame and the activation that it belongs to are variables of one C function. */
#define ENTRY_FRAME_REACH 512

/* Is this a code object, like the other one? */
static __always_inline bool caller_has_code(const struct walker *w, const struct py_offsets *off,
					    __u64 code_addr, __u64 other_addr)
{
	__u64 type_addr = 0, other_type_addr = 0;

	return code_addr && !read_from_u64(w, &type_addr, code_addr + off->object.ob_type) &&
	       !read_from_u64(w, &other_type_addr, other_addr + off->object.ob_type) &&
	       type_addr == other_type_addr;
}

/* Can the frame at addr have called the leaf? end: where it ends if it is on the data stack. */
static __always_inline bool caller_fits(struct scratch *s, const struct py_offsets *off, __u64 addr,
					__u64 end)
{
	struct walker *w = &s->walker;
	__u64 previous_addr, code_addr;
	__u32 size = 0, owner;

	if (!addr || addr & TAG_BITS || read_from(w, w->frame_window, KRAIT_FRAME_WINDOW, addr))
		return false;
	previous_addr = window_u64(w->frame_window, off->frame.previous, FRAME_WINDOW_MASK);
	code_addr = window_u64(w->frame_window, off->frame.executable, FRAME_WINDOW_MASK);
	if (!previous_addr || (previous_addr | code_addr) & TAG_BITS ||
	    !caller_has_code(w, off, code_addr, s->leaf.code_addr))
		return false;
	owner = walk_owner(w, off, addr);
	if (owner == OWNER_GENERATOR)
		return true;
	if (owner == OWNER_INTERPRETER)
		return addr - s->caller.top.cframe_addr + ENTRY_FRAME_REACH < 2 * ENTRY_FRAME_REACH;
	return owner == OWNER_THREAD &&
	       !read_from(w, &size, sizeof(size), code_addr + off->code.firstlineno + FRAME_SIZE) &&
	       addr + 8 * (__u64)size == end;
}

/* Looks at one register. */
__weak __noinline int caller_look(__u32 memory, __u32 layout, __u64 addr)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);
	const struct py_offsets *off = layout_at(layout);
	struct caller_search *c;

	if (!s)
		return -1;
	c = &s->caller;
	if (addr == s->leaf.frame_addr) {
		c->has_leaf = 1;
	} else if (addr != c->addr[0] && addr != c->addr[1] && caller_fits(s, off, addr, c->end)) {
		if (c->cnt < 2)
			c->addr[c->cnt & 1] = addr;
		c->cnt++;
	}
	return 0;
}

/* Looks for the frame that called the leaf, s->leaf. Leaves what it finds in s->caller. */
__weak __noinline int callers_in_regs(__u32 memory, __u32 layout)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);
	const struct py_offsets *off = layout_at(layout);
	struct caller_search *c;
	struct thread_search *t;
	struct walker *w;

	if (!s)
		return -1;
	w = &s->walker;
	t = &s->search;
	c = &s->caller;
	*c = (struct caller_search){ .end = s->leaf.frame_addr };
	if (off->frame_kind != PY_FRAME_OWNER || !w->frame_cnt || !c->end ||
	    thread_top(t, off, &c->top) || c->top.frame_addr != c->end ||
	    read_from(w, w->frame_window, KRAIT_FRAME_WINDOW, c->end))
		return -1;
	if (walk_owner(w, off, c->end) == OWNER_GENERATOR)
		c->end = window_u64(t->window, off->thread.cframe + DATASTACK_TOP,
				    THREAD_WINDOW_MASK);
	for (__u32 i = 0; i < REGS_GENERAL; i++)
		caller_look(memory, layout, s->regs[i]);
	return 0;
}

/* Walks from one of them. Returns the walk's reason. */
static __always_inline __u32 walk_caller(struct scratch *s, __u32 layout, __u64 addr, bool has_loop)
{
	struct walker *w = &s->walker;

	walk_begin(w, addr, 0, 0);
	walk_begin_cframe(w, s->search.tstate_addr, s->caller.top.cframe_addr,
			  s->caller.top.cframe_previous_addr);
	w->exposed = EXPOSED_NOT;
	w->frame_cnt = 1;
	CALL_FLAVOUR(has_loop, walk_frames, s->index, layout);
	return w->reason;
}

/*
 * Walks from the frame that called the leaf. Returns the walk's reason, or REASON_BAD_FRAME. Few samples
 * need it, so it is verified once.
 */
static __always_inline int walk_callers(__u32 memory, __u32 layout, bool has_loop)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);
	struct caller_search *c;
	__u32 other;

	if (!s)
		return REASON_BAD_FRAME;
	c = &s->caller;
	s->leaf = s->frames[0];
	callers_in_regs(s->index, layout);
	if (!c->has_leaf || c->cnt - 1 >= 2)
		return REASON_BAD_FRAME;
	if (c->cnt == 2) {
		other = walk_caller(s, layout, c->addr[0], has_loop);
		c->addr[0] = other == REASON_PYTHON ? c->addr[0] : c->addr[1];
		if (other == REASON_PYTHON && walk_caller(s, layout, c->addr[1], has_loop) == other)
			return REASON_BAD_FRAME;
	}
	return walk_caller(s, layout, c->addr[0], has_loop);
}

GLOBAL_FLAVOURS(walk_callers, (__u32 memory, __u32 layout), memory, layout)

/* ---- again -------------------------------------------------------------------------------------- */

/* Can the reason be one of those above? */
static __always_inline bool worth_another_walk(const struct scratch *s, __u32 reason)
{
	return reason == REASON_BAD_FRAME || reason == REASON_CYCLE ||
	       (reason == REASON_NO_BASE && s->walker.frame_cnt == 1);
}

/* Walks from the activation before. Returns the walk's reason, or REASON_BAD_FRAME. */
static __always_inline __u32 walk_activation(const struct trigger *t, struct scratch *s,
					     __u32 layout)
{
	/* The native frames lie where the Python frames were. */
	if (walk_native(t, s) || CALL_FLAVOUR(t->has_loop, begin_activation, s->index, layout))
		return REASON_BAD_FRAME;
	CALL_FLAVOUR(t->has_loop, walk_frames, s->index, layout);
	return s->walker.reason;
}

/*
 * Tries again if the thread's newest frames are impossible. Leaves the Python frames in s->frames and
 * returns the outcome's reason: the first one if the stack remains unknown.
 */
static __always_inline __u32 take_python_again(const struct trigger *t, struct scratch *s,
					       const struct proc_info *proc, __u32 reason)
{
	const bool natives = want_native && natives_on;
	__u32 layout = proc->layout, again;
	const struct py_offsets *off = layout_at(layout);

	if (!(off->flags & PYOFF_CFRAME) || find_regs(t, s))
		return reason;
	again = CALL_FLAVOUR(t->has_loop, walk_callers, s->index, layout);
	/* A generator in a register is not what an earlier activation left: it just has no caller. */
	if (again != REASON_PYTHON && natives && (reason != REASON_NO_BASE || !s->caller.has_leaf))
		again = walk_activation(t, s, layout);
	if (again == REASON_PYTHON) {
		CALL_FLAVOUR(t->has_loop, describe_frames, s->index, layout);
		return REASON_PYTHON;
	}
	/* Of a generator without a caller only the leaf is known. */
	s->frames[0] = s->leaf;
	s->walker.frame_cnt = 1;
	return reason;
}

#endif /* KRAIT_BPF_PYTHON_ACTIVATION_H */
