/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * greenlet_switching.h - walks the chain of a greenlet that is being switched from, and restores its entry
 * frames.
 *
 * From CPython 3.12 on, before greenlet (3.0+) copies a greenlet's C stack away, it unlinks all
 * entry frames, because they lie on that stack (Greenlet::expose_frames(), TGreenlet.cpp). The
 * frame below each becomes its caller's new `previous` (NULL at the end), and greenlet keeps the
 * old value in the frame's PyFrameObject, in the first word of _f_frame_data. The thread's current
 * frame stays in that chain until the other greenlet's C stack is in place and its chain is mended
 * (PythonState::unexpose_frames()). So a chain with entry frames belongs to the greenlet whose C
 * stack is in place; one without them may belong to another greenlet.
 *
 * A second walk puts the entry frames back. If an entry frame's memory is intact (it still leads to
 * the same frame), its address is valid; otherwise only its place in the chain is known
 * (FRAME_ENTRY_GONE).
 *
 * Must hold: all walks together take at most KRAIT_MAX_FRAMES + 1 steps.
 */
#ifndef KRAIT_BPF_PYTHON_GREENLET_SWITCHING_H
#define KRAIT_BPF_PYTHON_GREENLET_SWITCHING_H

#include "bpf/abi.h"
#include "bpf/bounds.h"
#include "bpf/read.h"
#include "bpf/python/walker.h"

/*
 * Called at the end of the chain: 1 if it must be walked again because the last frame was a Python frame. A generator
 * without any caller is just being left: what its frame object holds says nothing, since CPython writes _f_frame_data only
 * when a frame object takes its frame over (take_ownership(), Python/frame.c, 3.12).
 */
static __always_inline int exposed_again(struct walker *w, const struct py_offsets *off,
					 const struct frame *frames)
{
	if (w->exposed != EXPOSED_NOT_ASKED || !w->frame_cnt || w->last_owner > OWNER_GENERATOR ||
	    off->frame_kind != PY_FRAME_OWNER || !frames[0].frame_addr ||
	    (w->frame_cnt == 1 && w->last_owner == OWNER_GENERATOR))
		return 0;
	walk_rewind(w, frames[0].frame_addr, EXPOSED_SO_FAR);
	return 1;
}

/*
 * The old `previous` that greenlet has kept for the frame in the window; false if there is none.
 * Each exposed frame has a PyFrameObject that points back at it.
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

/*
 * Is the entry frame still there, leading to the next frame? The last one leads to NULL or to the
 * base frame.
 */
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

/* Emits the entry frame that is due. */
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

#endif /* KRAIT_BPF_PYTHON_GREENLET_SWITCHING_H */
