/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * greenlets.h - from the greenlet that a thread runs to its parents, with the frames at which they are suspended.
 *
 * A thread's variable of greenlet's module (2.0 and later) leads to { main greenlet, current one, ... } (TThreadState.hpp);
 * struct greenlet_place says where it is, and where things are in a greenlet: user space has seen there that it is so
 * (target/greenlet_place.h). Here each greenlet must still lead to a C++ object that leads back to it.
 *
 * A greenlet that is suspended has the frame object of its innermost frame. From there its chain is followed: greenlet has
 * taken the entry frames out of it (3.12 on; exposed.h), and before there are none, so nothing of it lies on the C stack.
 *
 * The thread does not stand at a switch, as a rule. If it does (the current greenlet is suspended already), its frames
 * are still that greenlet's if the first one is the one that it is suspended at; else they may be those of the next
 * greenlet, which is not current yet: TASK_TORN. A greenlet that has just begun is current before it has a frame: the
 * thread's frames are then those of the one that has begun it. That one waits by now (its entry frames are gone:
 * REASON_SWITCHING), or its frames are met again as a parent's: TASK_TORN, too.
 *
 * A chain is parts, struct frame each, the parent first: one with code_addr 0 begins a greenlet (frame_addr: it; fingerprint:
 * enum task_note, without a cycle), and its frames follow, leaf first.
 *
 * Must hold: at most KRAIT_MAX_GREENLET_PARTS parts and KRAIT_MAX_GREENLET_STEPS steps; a greenlet is only read, and every
 * way out leaves a note.
 */
#ifndef KRAIT_GREENLETS_H
#define KRAIT_GREENLETS_H

#define GREENLET_WINDOW_MASK 255
/* Of the stack of a main greenlet: where it ends. */
#define GREENLET_STACK_MAIN (~0ULL)

/* State of one walk; in per-CPU memory. */
struct greenlet_walk {
	__u64 greenlet_addr; /* to enter next, 0 none */
	__u64 frame_addr; /* of the one that was entered, to be visited next; 0 none */
	__u64 leaf_addr; /* the thread's own frames begin with that one */
	__u32 cnt; /* parts */
	__u32 at; /* the part with which the last greenlet began */
	__u32 note; /* enum task_note of it */
	__u32 prev; /* enum prev_instr of the frame to visit next */
	__u8 window[WINDOW_SIZE(GREENLET_WINDOW_MASK + 1)];
};

static __always_inline __u64 greenlet_word(const struct greenlet_walk *g, __u8 offset)
{
	return window_u64(g->window, offset, GREENLET_WINDOW_MASK);
}

/* Into the window, and its parent: 0 none. */
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

/* The innermost frame of what is in the window; 0 there is none: it has not begun, is over, or is C alone. */
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

/* A part for a greenlet. */
static __always_inline void greenlet_put(struct greenlet_walk *g, __u64 addr, struct frame *out)
{
	walk_part(out, addr);
	g->at = g->cnt++;
	g->note = 0;
}

/*
 * The thread runs that greenlet, and its frames begin with that at leaf_addr; switching: they are REASON_SWITCHING's.
 * out: where the first part goes. There is one already where nothing can be said.
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
	g->prev = PREV_AT; /* it is in greenlet's switch() */
	return 0;
}

/*
 * Of the frame in the window, at addr: where its caller's prev_instr is, on 3.11 and 3.12. Where C was between, greenlet has taken an
 * entry frame out of the chain on 3.12; 3.11 has none, the frame says so itself (walk_owner()).
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

/* Its opcode, and what is known of its caller. */
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

/* One frame: a part, but for one that is just being cleared. */
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
	out->fingerprint = w->fingerprints ? walk_fingerprint(w, off, code_addr) : 0;
	g->cnt++;
	return 0;
}

/* Finishes the greenlet's part once all of its frames have been visited. */
static __always_inline void greenlet_settle(const struct greenlet_walk *g, struct frame *part)
{
	part->fingerprint = g->note;
}

/*
 * One turn: out is where the next part goes, part that of the last greenlet. 0 to go on, 1 when the walk is over and the
 * last greenlet is to be settled.
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

/* There were no more turns. */
static __always_inline void greenlet_walk_stop(struct greenlet_walk *g)
{
	if (g->frame_addr || g->greenlet_addr)
		g->note |= TASK_LIMIT;
}

#endif /* KRAIT_GREENLETS_H */
