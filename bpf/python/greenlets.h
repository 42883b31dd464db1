/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * greenlets.h - from a thread's current greenlet to its parents, with the frames at which they are
 * suspended.
 *
 * A thread-local variable of greenlet's module (2.0 and later) points to { main greenlet, current
 * one, ... } (TThreadState.hpp). struct greenlet_place says where it is and where the members of a
 * greenlet are; user space has verified both in the process (process/identify/greenlet_place.h). Each
 * greenlet visited here must in addition point to a C++ object that points back to it.
 *
 * A suspended greenlet has the frame object of its innermost frame, and its chain is followed from
 * there. None of it lies on the C stack: greenlet has unlinked the entry frames (3.12 on;
 * greenlet_switching.h), and older versions have none.
 *
 * Usually the thread is not in the middle of a switch. If it is (the current greenlet is already
 * suspended), its frames still belong to that greenlet if the first one is where the greenlet is
 * suspended. Otherwise they may belong to the next greenlet, which is not current yet: TASK_TORN. A
 * new greenlet becomes current before it has a frame, so at that moment the thread's frames belong
 * to the greenlet that started it. We notice because that one is suspended by now (its entry frames
 * are gone: REASON_SWITCHING), or because its frames turn up again as a parent's: TASK_TORN as
 * well.
 *
 * A chain consists of parts, each a struct frame, the parent first. A part with code_addr 0 begins
 * a greenlet (frame_addr: the greenlet; fingerprint: enum task_note, without a cycle); its frames
 * follow, leaf first.
 *
 * Must hold: at most KRAIT_MAX_GREENLET_PARTS parts and KRAIT_MAX_GREENLET_STEPS steps; greenlets
 * are only read, and every way out leaves a note.
 */
#ifndef KRAIT_BPF_PYTHON_GREENLETS_H
#define KRAIT_BPF_PYTHON_GREENLETS_H

#include "bpf/abi.h"
#include "bpf/bounds.h"
#include "bpf/python/greenlet_switching.h"
#include "bpf/read.h"
#include "bpf/python/walk.h"
#include "bpf/python/walk_instr.h"
#include "bpf/python/walker.h"

#define GREENLET_WINDOW_MASK 255
/* Where the stack of a main greenlet ends. */
#define GREENLET_STACK_MAIN (~0ULL)

/* State of one walk; in per-CPU memory. */
struct greenlet_walk {
	__u64 greenlet_addr; /* to enter next; 0 none */
	__u64 frame_addr; /* next frame to visit in the greenlet just entered; 0 none */
	__u64 leaf_addr; /* first of the thread's own frames */
	__u32 cnt; /* parts so far */
	__u32 at; /* index of the part that began the last greenlet */
	__u32 note; /* enum task_note of the last greenlet */
	__u32 prev; /* enum prev_instr of the frame to visit next */
	__u8 window[WINDOW_SIZE(GREENLET_WINDOW_MASK + 1)];
};

static __always_inline __u64 greenlet_word(const struct greenlet_walk *g, __u8 offset)
{
	return window_u64(g->window, offset, GREENLET_WINDOW_MASK);
}

/* Reads a greenlet into the window, and its parent's address: 0 if it has none. */
static __always_inline int greenlet_read(struct greenlet_walk *g, struct walker *w,
					 const struct greenlet_place *l, __u64 addr,
					 __u64 *ret_parent_addr)
{
	__u64 impl_addr = 0;

	*ret_parent_addr = 0;
	if (addr & TAG_BITS || read_from_u64(w, &impl_addr, addr + l->impl) ||
	    impl_addr & TAG_BITS ||
	    read_from(w, g->window, at_most(l->size, KRAIT_GREENLET_WINDOW), impl_addr) ||
	    greenlet_word(g, l->self) != addr)
		return -1;
	if (greenlet_word(g, l->stack_stop) == GREENLET_STACK_MAIN)
		return 0;
	return read_from_u64(w, ret_parent_addr, impl_addr + l->parent);
}

/*
 * The innermost frame of the greenlet in the window; 0 if it has none: it has not begun, is over,
 * or runs only C.
 */
static __always_inline int greenlet_frame(const struct greenlet_walk *g, struct walker *w,
					  const struct py_offsets *off,
					  const struct greenlet_place *l, __u64 *ret)
{
	__u64 object_addr = greenlet_word(g, l->top_frame);

	*ret = object_addr;
	if (!object_addr || off->frame_kind == PY_FRAME_OBJECT)
		return 0;
	return read_from_u64(w, ret, object_addr + PYOFF_FRAME_OBJECT_FRAME(off));
}

static __always_inline int greenlet_walk_end(struct greenlet_walk *g, __u32 note)
{
	g->note |= note;
	return 1;
}

/* Begins a greenlet's part. */
static __always_inline void greenlet_put(struct greenlet_walk *g, __u64 addr, struct frame *out)
{
	walk_part(out, addr);
	g->at = g->cnt++;
	g->note = 0;
}

/*
 * Begins a walk: the thread runs that greenlet, and its frames begin at leaf_addr. switching: they
 * end in REASON_SWITCHING. out: where the first part goes. If nothing certain can be said, writes
 * one part with TASK_TORN.
 */
static __always_inline void greenlet_walk_begin(struct greenlet_walk *g, struct walker *w,
						const struct py_offsets *off,
						const struct greenlet_place *l, __u64 current_addr,
						__u64 leaf_addr, bool switching, struct frame *out)
{
	__u64 frame_addr = 0;

	g->greenlet_addr = 0;
	g->frame_addr = 0;
	g->leaf_addr = leaf_addr;
	g->cnt = 0;
	g->at = 0;
	g->note = 0;
	if (!greenlet_read(g, w, l, current_addr, &g->greenlet_addr) &&
	    !greenlet_frame(g, w, off, l, &frame_addr) &&
	    (frame_addr ? frame_addr == leaf_addr : !switching))
		return;
	g->greenlet_addr = 0;
	greenlet_put(g, current_addr, out);
	g->note = TASK_TORN;
}

static __always_inline int greenlet_enter(struct greenlet_walk *g, struct walker *w,
					  const struct py_offsets *off,
					  const struct greenlet_place *l, struct frame *out)
{
	__u64 addr = g->greenlet_addr;

	g->greenlet_addr = 0;
	greenlet_put(g, addr, out);
	if (greenlet_read(g, w, l, addr, &g->greenlet_addr) ||
	    greenlet_frame(g, w, off, l, &g->frame_addr) ||
	    (g->frame_addr && g->frame_addr == g->leaf_addr)) {
		g->greenlet_addr = 0;
		g->frame_addr = 0;
		return greenlet_walk_end(g, TASK_TORN);
	}
	if (!greenlet_word(g, l->stack_stop) || !greenlet_word(g, l->stack_start))
		g->frame_addr = 0;
	g->prev = PREV_AT; /* it is suspended in greenlet's switch() */
	return 0;
}

/*
 * What is known of the prev_instr of the caller of the frame in the window, which is at addr (3.11
 * and 3.12). If C code was in between, greenlet has unlinked an entry frame on 3.12; 3.11 has none,
 * and the frame itself says so (walk_owner()).
 */
static __always_inline __u32 greenlet_prev_of_caller(struct walker *w, const struct py_offsets *off,
						     __u32 owner, __u64 addr, __u64 previous_addr)
{
	__u64 kept = 0;

	if (owner == OWNER_FRAME_OBJECT)
		return PREV_AT;
	if (off->frame_kind == PY_FRAME_IS_ENTRY)
		return w->entry_due ? PREV_AT : PREV_CALLEE;
	if (!exposed_kept(w, off, addr, &kept))
		return PREV_UNKNOWN;
	return kept == previous_addr ? PREV_CALLEE : PREV_AT;
}

/* The frame's opcode; also updates what is known of its caller's prev_instr. */
static __always_inline __u8 greenlet_opcode(struct greenlet_walk *g, struct walker *w,
					    const struct py_offsets *off, __u32 owner, __u64 addr,
					    __u64 code_addr, __s32 *instr_off)
{
	enum prev_instr prev = g->prev;

	if (!walk_wants_opcodes(w))
		return 0;
	if (off->flags & PYOFF_CFRAME)
		g->prev = greenlet_prev_of_caller(w, off, owner, addr, g->frame_addr);
	return walk_opcode(w, off, code_addr, instr_off, prev);
}

/* Visits one frame and writes its part, unless the frame is just being cleared. */
static __always_inline int greenlet_visit(struct greenlet_walk *g, struct walker *w,
					  const struct py_offsets *off, struct frame *out)
{
	__u32 size = off->frame_kind == PY_FRAME_OBJECT ? KRAIT_OLD_FRAME_WINDOW :
							  KRAIT_FRAME_WINDOW;
	__u64 addr = g->frame_addr, code_addr;
	__u32 owner = OWNER_NONE;
	__s32 instr_off;

	g->frame_addr = 0;
	if (!(addr & TAG_BITS) && !read_from(w, w->frame_window, size, addr))
		owner = walk_owner(w, off, addr);
	if (owner > OWNER_FRAME_OBJECT) {
		g->note |= TASK_FRAMES;
		return 0;
	}
	g->frame_addr = window_u64(w->frame_window, off->frame.previous, FRAME_WINDOW_MASK);
	code_addr = window_u64(w->frame_window, off->frame.executable, FRAME_WINDOW_MASK) &
		    ~TAG_BITS;
	if (!code_addr)
		return 0;
	instr_off = owner == OWNER_FRAME_OBJECT ? FRAME_INSTR_UNKNOWN :
						  walk_instr(w, off, code_addr);
	out->code_addr = code_addr;
	out->frame_addr = addr;
	out->opcode = greenlet_opcode(g, w, off, owner, addr, code_addr, &instr_off);
	out->instr_off = instr_off;
	out->fingerprint = walk_wants_fingerprints(w) ? walk_fingerprint(w, off, code_addr) : 0;
	g->cnt++;
	return 0;
}

/* Finishes the greenlet's part once all of its frames have been visited. */
static __always_inline void greenlet_settle(const struct greenlet_walk *g, struct frame *part)
{
	part->fingerprint = g->note;
}

/*
 * One step. out: where the next part goes; part: that of the last greenlet. Returns 0 to go on, 1
 * when the walk is over and the last greenlet must be settled.
 */
static __always_inline int greenlet_step(struct greenlet_walk *g, struct walker *w,
					 const struct py_offsets *off,
					 const struct greenlet_place *l, struct frame *out,
					 struct frame *part)
{
	if (!g->frame_addr && !g->greenlet_addr)
		return 1;
	if (g->cnt >= KRAIT_MAX_GREENLET_PARTS)
		return greenlet_walk_end(g, TASK_LIMIT);
	if (g->frame_addr)
		return greenlet_visit(g, w, off, out);
	if (g->cnt)
		greenlet_settle(g, part);
	return greenlet_enter(g, w, off, l, out);
}

/* The walk ran out of steps. */
static __always_inline void greenlet_walk_stop(struct greenlet_walk *g)
{
	if (g->frame_addr || g->greenlet_addr)
		g->note |= TASK_LIMIT;
}

#endif /* KRAIT_BPF_PYTHON_GREENLETS_H */
