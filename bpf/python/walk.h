/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * walk.h - from a thread state to its frames, leaf first.
 *
 * The thread is interrupted on this very CPU, so the chain cannot change while it is followed. What
 * can go wrong is memory that is not present, an interrupt between two stores of a call or return,
 * and a target that lies. Each ends the walk with its own reason.
 *
 * CPython 3.12 to 3.15, Include/internal/pycore_frame.h and pycore_interpframe_structs.h
 * (PY_FRAME_OWNER):
 *  - owner 0 and 1 (thread, generator) are Python frames; f_executable carries tag bits (3.14+). A
 *    frame with f_executable 0 is being cleared, and is emitted as all zeroes;
 *  - owner 3 (and 4 in 3.14) is an entry frame on the C stack, one per activation of the eval loop.
 *    It is emitted with code_addr 0; its address is where native frames are joined;
 *  - owner 2 (frame object) is never on a live chain, except in compiled programs (below);
 *  - on 3.15 the last node is PyThreadState.base_frame, preceded by an entry frame. greenlet begins
 *    with no current frame (TGreenlet.cpp, 3.x), so its stacks end in an entry frame on any
 *    version.
 *
 * CPython 3.11 (PY_FRAME_IS_ENTRY) has no entry frames, but marks each frame that C called. An
 * entry frame is emitted after such a frame; its address is that of the activation's _PyCFrame,
 * which is on the C stack, too. CPython 3.8 to 3.10 (PY_FRAME_OBJECT): each frame has an activation
 * of its own, which leaves no trace in the interpreter's memory. The chain ends where f_back is
 * NULL.
 *
 * 3.11 and 3.12 keep the current frame in the _PyCFrame, and publish that before they fill it: an
 * interrupt within these few instructions sees what an earlier activation left in that place. So on
 * the way down the frame that called an activation must be the current one in the activation
 * before, and the outermost activation must be the thread state's own (greenlet has one more above
 * that); else the walk ends (REASON_BAD_FRAME). This hits 0.8 % of the samples in a program where C
 * calls Python all the time on 3.11, 1.4 % on 3.12. If native frames are wanted the sampler tries
 * again from the activation before (activation.h); without them the sample is lost. It is bad or
 * circular, by what that place held. 3.12 also enters and leaves frames in steps: activation.h.
 *
 * Nuitka (4.3.3, compiled_frame.h) compiles functions to C and links a frame for each into the
 * chain. Its owner is 1, or 2 without the GIL, and it is part of its own frame object, which no
 * frame of the interpreter is while it runs. It belongs to no activation, so it has no entry frame
 * and lacks 3.11's mark. If C code started the thread it is the last frame, and the stack is
 * complete; where activations are followed, only in the thread state's own, as a stale one may hold
 * anything. A compiled frame's instruction is always the first one, and leaving it does not update
 * last_profiled_frame, so it cannot be an anchor.
 *
 * Must hold: at most KRAIT_MAX_FRAMES steps; the only effect is on struct walker and its output.
 */
#ifndef KRAIT_BPF_PYTHON_WALK_H
#define KRAIT_BPF_PYTHON_WALK_H

#include "bpf/abi.h"
#include "bpf/bounds.h"
#include "bpf/python/greenlet_switching.h"
#include "bpf/read.h"
#include "bpf/python/walk_instr.h"
#include "bpf/python/walker.h"

/* As walk_finish(), with activations: the walk must also have reached the outermost one. */
static __always_inline int walk_finish_cframe(struct walker *w, const struct py_offsets *off)
{
	if (w->last_owner == OWNER_FRAME_OBJECT)
		return walk_end(w, w->cframe_addr - w->tstate_addr < KRAIT_CFRAME_THREAD ?
					   REASON_PYTHON :
					   REASON_BAD_FRAME);
	if (w->last_owner < OWNER_INTERPRETER && off->frame_kind == PY_FRAME_OWNER)
		return walk_end(w, REASON_NO_BASE); /* a generator is just being left */
	if (w->last_owner >= OWNER_INTERPRETER &&
	    (w->cframe_addr - w->tstate_addr < KRAIT_CFRAME_THREAD ||
	     w->cframe_previous_addr - w->tstate_addr < KRAIT_CFRAME_THREAD))
		return walk_end(w, REASON_PYTHON);
	return walk_end(w, REASON_BAD_FRAME);
}

/* The chain has ended: was that its real end? Before 3.15 an idle thread has an empty chain. */
static __always_inline int walk_finish(struct walker *w, const struct py_offsets *off)
{
	if (off->frame_kind == PY_FRAME_OBJECT)
		return walk_end(w, REASON_PYTHON);
	if (w->exposed == EXPOSED_SO_FAR)
		return walk_end(w, REASON_SWITCHING);
	if (w->cframe_addr)
		return walk_finish_cframe(w, off);
	if (w->base_addr && w->last_addr == w->base_addr)
		return walk_end(w, REASON_PYTHON);
	if (w->base_addr)
		return walk_end(w, w->frame_cnt > 1 && w->last_owner == OWNER_INTERPRETER ?
					   REASON_GREENLET :
					   REASON_NO_BASE);
	return walk_end(w, w->last_owner >= OWNER_FRAME_OBJECT ? REASON_PYTHON : REASON_NO_BASE);
}

/* Brent's algorithm: keep one old address and renew it at powers of two. */
static __always_inline int walk_in_circle(struct walker *w, __u64 addr)
{
	if (addr == w->cycle_addr)
		return 1;
	if (w->frame_cnt >= w->cycle_at) {
		w->cycle_addr = addr;
		w->cycle_at *= 2;
	}
	return 0;
}

static __always_inline void walk_python_frame(struct walker *w, const struct py_offsets *off,
					      __u32 owner, __u64 addr, __u64 code_addr,
					      struct frame *out)
{
	__s32 instr_off = walk_instr(w, off, code_addr);
	__u8 opcode = 0;

	if (walk_wants_opcodes(w) && owner != OWNER_FRAME_OBJECT)
		opcode = walk_opcode(w, off, code_addr, &instr_off,
				     w->frame_cnt && w->last_owner <= OWNER_GENERATOR ?
					     PREV_RUNS_CALLEE :
					     PREV_RUNS);
	out->code_addr = code_addr;
	out->frame_addr = code_addr ? addr : 0;
	out->instr_off = owner == OWNER_FRAME_OBJECT ? FRAME_INSTR_UNKNOWN : instr_off;
	out->opcode = opcode;
	out->fingerprint = walk_wants_fingerprints(w) ? walk_fingerprint(w, off, code_addr) : 0;
}

/*
 * Looks for the mark and collects the addresses from there on. An entry frame ends the chain and is
 * never the mark: later calls reuse its address on the C stack. Returns 1 to stop.
 */
static __always_inline int walk_mark(struct walker *w, const struct frame *node, __u32 index)
{
	if (!WALK_CHECK(ENTRY_FRAME, node->code_addr != 0)) {
		w->chain_open = 0;
		return 0;
	}
	if (node->frame_addr == w->mark_addr && !w->mark_met) {
		w->mark_met = 1;
		w->mark_index = index;
		w->chain_open = 1;
	}
	if (!w->chain_open)
		return 0;
	if (w->chain_cnt < KRAIT_ANCHOR_FRAMES)
		w->chain[masked(w->chain_cnt++, KRAIT_ANCHOR_FRAMES - 1)] = node->frame_addr;
	return w->stop_at_mark;
}

/*
 * Leaves an activation through its entry frame. Its caller, w->next_addr, must be current in the
 * activation before. Returns 0, or 1 at the end of the walk.
 */
static __always_inline int walk_leave_cframe(struct walker *w, const struct py_offsets *off)
{
	__u64 addr = w->cframe_previous_addr;

	if (!addr || addr & TAG_BITS)
		return walk_end(w, REASON_BAD_FRAME);
	if (walk_read(w, w->cframe_window, KRAIT_CFRAME_WINDOW, addr, true))
		return walk_end(w, REASON_FRAME_FAULT);
	if (window_u64(w->cframe_window, off->cframe.current_frame, CFRAME_WINDOW_MASK) !=
	    w->next_addr)
		return walk_end(w, REASON_BAD_FRAME);
	w->cframe_addr = addr;
	w->cframe_previous_addr =
		window_u64(w->cframe_window, off->cframe.previous, CFRAME_WINDOW_MASK);
	return 0;
}

/* Emits the entry frame that 3.11 does not have. */
static __always_inline int walk_implied_entry(struct walker *w, const struct py_offsets *off,
					      struct frame *frames)
{
	struct frame *out = &frames[masked(w->frame_cnt, KRAIT_MAX_FRAMES - 1)];

	if (w->frame_cnt >= KRAIT_MAX_FRAMES)
		return walk_end(w, REASON_DEPTH);
	walk_entry_frame(out, w->cframe_addr);
	w->frame_cnt++;
	w->entry_due = 0;
	w->last_owner = OWNER_INTERPRETER;
	return walk_leave_cframe(w, off);
}

static __always_inline int walk_read_frame(struct walker *w, const struct py_offsets *off,
					   __u64 addr)
{
	if (off->frame_kind == PY_FRAME_OBJECT)
		return read_from(w, w->frame_window, KRAIT_OLD_FRAME_WINDOW, addr);
	return walk_read(w, w->frame_window, KRAIT_FRAME_WINDOW, addr, false);
}

/*
 * Is the frame in the window, at addr, part of its own frame object? The member frame_obj comes
 * right before the instruction pointer, in 3.11 before previous.
 */
static __always_inline int walk_is_compiled(const struct walker *w, const struct py_offsets *off,
					    __u64 addr)
{
	__s32 after = off->frame_kind == PY_FRAME_IS_ENTRY ? off->frame.previous :
							     off->frame.instr_ptr;

	return addr - window_u64(w->frame_window, after - 8, FRAME_WINDOW_MASK) - 1 <
	       COMPILED_FRAME_BYTES;
}

/* The owner of the frame in the window, at addr. */
static __always_inline __u32 walk_owner(struct walker *w, const struct py_offsets *off, __u64 addr)
{
	__u32 owner;

	if (off->frame_kind == PY_FRAME_OBJECT)
		return OWNER_THREAD;
	owner = window_u8(w->frame_window, off->frame.owner, FRAME_WINDOW_MASK);
	if (owner == OWNER_GENERATOR || owner == OWNER_FRAME_OBJECT) {
		if (walk_is_compiled(w, off, addr))
			return OWNER_FRAME_OBJECT;
		if (owner == OWNER_FRAME_OBJECT)
			return OWNER_NONE;
	}
	if (off->frame_kind == PY_FRAME_IS_ENTRY) {
		w->entry_due = window_u8(w->frame_window, off->frame.is_entry, FRAME_WINDOW_MASK) &
			       1;
		return owner <= OWNER_GENERATOR ? owner : OWNER_NONE;
	}
	return owner;
}

/*
 * Visits one frame and writes at most one struct frame at frames[frame_cnt]. Returns 0 to go on, 1
 * when the walk is over and w->reason is set.
 */
static __always_inline int walk_step(struct walker *w, const struct py_offsets *off,
				     struct frame *frames)
{
	__u64 addr = w->next_addr, code_addr;
	__u32 owner, index = w->frame_cnt;
	struct frame *out;

	if (w->entry_due)
		return w->exposed ? exposed_entry(w, off, frames) :
				    walk_implied_entry(w, off, frames);
	if (!addr)
		return exposed_again(w, off, frames) ? 0 : walk_finish(w, off);
	if (index >= KRAIT_MAX_FRAMES)
		return walk_end(w, REASON_DEPTH);
	if (addr & TAG_BITS)
		return walk_end(w, REASON_BAD_FRAME);
	if (walk_in_circle(w, addr))
		return walk_end(w, REASON_CYCLE);
	if (walk_read_frame(w, off, addr))
		return walk_end(w, REASON_FRAME_FAULT);

	owner = walk_owner(w, off, addr);
	code_addr = window_u64(w->frame_window, off->frame.executable, FRAME_WINDOW_MASK) &
		    ~TAG_BITS;
	out = &frames[masked(index, KRAIT_MAX_FRAMES - 1)];
	if (owner <= OWNER_FRAME_OBJECT) {
		walk_python_frame(w, off, owner, addr, code_addr, out);
	} else if (owner == OWNER_INTERPRETER || owner == OWNER_CSTACK) {
		walk_entry_frame(out, addr);
	} else {
		return walk_end(w, REASON_BAD_FRAME);
	}
	w->frame_cnt = index + 1;
	w->last_owner = owner;
	w->last_addr = addr;
	w->next_addr = window_u64(w->frame_window, off->frame.previous, FRAME_WINDOW_MASK);
	if (owner == OWNER_FRAME_OBJECT)
		w->chain_open = 0;
	else if (w->mark_addr && walk_mark(w, out, index))
		return walk_end(w, REASON_PYTHON);
	if (w->cframe_addr && owner >= OWNER_INTERPRETER)
		return walk_leave_cframe(w, off);
	if (w->exposed == EXPOSED_SO_FAR && owner <= OWNER_GENERATOR)
		exposed_look(w, off, frames, addr);
	return 0;
}

/*
 * Is this a whole stack without Python frames while the interpreter finalizes (Py_FinalizeEx(),
 * Python/pylifecycle.c)? Freeing everything takes time, so it has a reason of its own.
 */
static __always_inline bool walk_is_finalizing(const struct walker *w, const struct py_offsets *off,
					       __u64 runtime_addr, const struct frame *frames)
{
	__u64 addr = 0;

	if (w->frame_cnt > 2 || off->runtime.finalizing == PYOFF_ABSENT)
		return false;
	if ((w->frame_cnt > 0 && frames[0].code_addr) || (w->frame_cnt > 1 && frames[1].code_addr))
		return false;
	return !read_from_u64(w, &addr, runtime_addr + off->runtime.finalizing) && addr;
}

#endif /* KRAIT_BPF_PYTHON_WALK_H */
