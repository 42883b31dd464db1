/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * exposed.h - the chain of a greenlet that is being switched from, and where C has called Python in it.
 *
 * Before greenlet (3.0+) copies a greenlet's C stack away, from CPython 3.12 on, it takes all entry frames out of the
 * chain, because they lie there (Greenlet::expose_frames(), TGreenlet.cpp): the frame below each becomes its
 * `previous`, NULL at the end, and what stood there is kept in the frame's PyFrameObject, in the first word of
 * _f_frame_data. The thread's current frame is in that chain until the other greenlet's C stack is in place and its own
 * chain mended (PythonState::unexpose_frames()). So a chain that has its entry frames is of the greenlet that the C
 * stack is of, and one without them may be of another.
 *
 * A second walk puts the entry frames back. One whose memory is still what was taken out (it leads to the same
 * frame) lies where it says; of others only the place in the chain is known (FRAME_ENTRY_GONE).
 *
 * Must hold: each step of a walk is one of at most KRAIT_MAX_FRAMES + 1, whichever walk it belongs to.
 */
#ifndef KRAIT_EXPOSED_H
#define KRAIT_EXPOSED_H

/* Called at the end of the chain: 1 if it must be walked again because the last frame was a Python frame. */
static __always_inline int exposed_again(struct walker *w, const struct py_offsets *off,
					 const struct frame *frames)
{
	if (w->exposed != EXPOSED_NOT_ASKED || !w->frame_cnt || w->last_owner > OWNER_GENERATOR ||
	    off->frame_kind != PY_FRAME_OWNER || !frames[0].frame_addr)
		return 0;
	walk_rewind(w, frames[0].frame_addr, EXPOSED_SO_FAR);
	return 1;
}

/*
 * The word that greenlet has kept of the frame in the window; false where there is none: each exposed frame has an
 * object, and that knows it.
 */
static __always_inline bool exposed_kept(struct walker *w, const struct py_offsets *off, __u64 addr,
					 __u64 *ret)
{
	__u64 object_addr =
		window_u64(w->frame_window, off->frame.instr_ptr - 8, FRAME_WINDOW_MASK);
	__u64 frame_addr = 0;

	return object_addr && !(object_addr & TAG_BITS) &&
	       !read_from_u64(w, &frame_addr, object_addr + PYOFF_FRAME_OBJECT_FRAME(off)) &&
	       frame_addr == addr &&
	       !read_from_u64(w, ret, object_addr + PYOFF_FRAME_OBJECT_DATA(off));
}

/* In a second walk, after a Python frame: does an entry frame come next? */
static __always_inline void exposed_look(struct walker *w, const struct py_offsets *off,
					 const struct frame *frames, __u64 addr)
{
	__u64 kept = 0;

	if (!exposed_kept(w, off, addr, &kept) || kept & TAG_BITS || (!kept && !w->next_addr)) {
		walk_rewind(w, frames[0].frame_addr, EXPOSED_NOT);
		return;
	}
	w->entry_addr = kept;
	w->entry_due = kept != w->next_addr;
}

/* Whether the entry frame is there that leads to the next frame; the last one leads nowhere, or to the base frame. */
static __always_inline bool exposed_is_there(struct walker *w, const struct py_offsets *off,
					     __u64 addr)
{
	__u64 previous_addr;
	__u32 owner;

	if (walk_read(w, w->frame_window, KRAIT_FRAME_WINDOW, addr, false))
		return false;
	owner = window_u8(w->frame_window, off->frame.owner, FRAME_WINDOW_MASK);
	previous_addr = window_u64(w->frame_window, off->frame.previous, FRAME_WINDOW_MASK);
	return (owner == OWNER_INTERPRETER || owner == OWNER_CSTACK) &&
	       (previous_addr == w->next_addr || (!w->next_addr && previous_addr == w->base_addr));
}

/* The entry frame that is due. */
static __always_inline int exposed_entry(struct walker *w, const struct py_offsets *off,
					 struct frame *frames)
{
	struct frame *out = &frames[masked(w->frame_cnt, KRAIT_MAX_FRAMES - 1)];
	__u64 addr = w->entry_addr;

	if (w->frame_cnt >= KRAIT_MAX_FRAMES)
		return walk_end(w, REASON_DEPTH);
	walk_entry_frame(out, exposed_is_there(w, off, addr) ? addr : addr | FRAME_ENTRY_GONE);
	w->frame_cnt++;
	w->entry_due = 0;
	w->last_owner = OWNER_INTERPRETER;
	return 0;
}

#endif /* KRAIT_EXPOSED_H */
