/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * anchor.h - may this walk stop before the root?
 *
 * CPython 3.15 keeps PyThreadState.last_profiled_frame (lpf) for profilers: on every pop of a
 * Python frame it does "if (lpf == frame) { lpf = frame->previous; seq++; }" (pycore_interpframe.h,
 * _PyThreadState_UpdateLastProfiledFrame()). User space writes a frame's address there. Once an
 * interrupt has seen that this frame is alive, nothing below it can change unnoticed, and the walk
 * may stop there. Three things could produce impossible stacks:
 *
 *  - User space writes late: the frame may be gone, and its address in use again, with no trace in
 *    seq. So a written anchor counts for nothing until an interrupt of the thread meets it on a
 *    full walk. From then on the interpreter itself reports every pop of it.
 *  - Leaving a C-level eval loop updates nothing: an lpf that has slid to an entry frame stays
 *    there, dead, and the next entry frame at that C stack address looks the same. So the trusted
 *    chain ends before the first entry frame.
 *  - Other profilers write the same field. So a walk stops only if lpf and seq are what they were
 *    when the anchor was confirmed. After a slide, which must follow the chain, a full walk must
 *    meet it again. Any single foreign write between two samples breaks this, even a late write of
 *    a dead frame whose address is in use again; it ends the anchor, and user space makes sure that
 *    it is alone before it writes again. Two foreign writes between two samples can escape; the
 *    audit catches those.
 *
 * The epoch synchronises the two sides: user space sets it to 0, writes the other fields and lpf,
 * and then sets a number never used before. The program reads the epoch after it has read lpf, and
 * again after it has read the other fields. As long as it equals the epoch of the program's own
 * state, user space has not begun to write.
 *
 * An epoch goes from written to confirmed to over and never back, with one exception: if the
 * confirming record found no room in the ring buffer, it has confirmed nothing.
 */
#ifndef KRAIT_BPF_PYTHON_ANCHOR_H
#define KRAIT_BPF_PYTHON_ANCHOR_H

#include "bpf/abi.h"
#include "bpf/bounds.h"
#include "bpf/read.h"
#include "bpf/python/walker.h"
#ifdef __bpf__
#include "bpf/map/sampling.h"
#endif

/*
 * Wraps every check that keeps wrong stacks out. The model test (tests/unit/test_anchor.c) disables
 * them one at a time and must then find stacks that never existed.
 */
#ifndef ANCHOR_CHECK
#define ANCHOR_CHECK(name, condition) (condition)
#endif

/* Steps that audits may cost per audit_every deltas. */
#ifndef ANCHOR_AUDIT_DEPTH
#define ANCHOR_AUDIT_DEPTH 128
#endif

/* What the interrupt read from the thread, and how that determines the walk. */
struct anchor_plan {
	__u64 tstate_addr;
	__u64 lpf_addr, seq; /* from one read of the thread state */
	__u64 epoch; /* read after that */
	__u32 audit_every; /* one delta in this many is an audit, fewer for deep stacks; 0: never */
	/* set by anchor_decide() */
	__u32 confirm; /* if the full walk meets lpf, the anchor is confirmed */
	__u32 delta; /* lpf is alive: once the walk meets it, the rest is known ... */
	__u32 audit; /* ... but this walk goes on to the end */
	__u32 steps; /* index of lpf in addrs */
	__u32 note; /* enum anchor_note */
};

static __always_inline void anchor_over(struct anchor *a, struct anchor_plan *p, __u32 note)
{
	a->state = ANCHOR_OVER;
	p->note = note;
}

/*
 * Between the two stores of a pop, lpf has moved but seq has not. Trust nothing now, but do not end the anchor
 * either.
 */
static __always_inline bool anchor_is_sliding(const struct anchor *a, const struct anchor_plan *p,
					      __u64 steps)
{
	return steps + 1 < a->addr_cnt &&
	       a->addrs[masked(steps + 1, KRAIT_ANCHOR_FRAMES - 1)] == p->lpf_addr;
}

/*
 * How far has lpf moved? It must be as many frames down the chain as there were pops. The chain of
 * a confirmed anchor is true. The chain of a written anchor is only what user space believed: good
 * enough to tell our anchor from a foreign one, since the full walk decides.
 */
static __always_inline void anchor_locate(struct anchor *a, struct anchor_plan *p)
{
	bool confirmed = a->state == ANCHOR_CONFIRMED;
	__u64 steps = p->seq - a->seq;

	if (steps >= a->addr_cnt) {
		/*
		 * No pops are reported beyond an entry frame, but there may be some beyond the part
		 * of the chain that we hold.
		 */
		bool slid = !confirmed || steps == a->addr_cnt ||
			    a->addr_cnt == KRAIT_ANCHOR_FRAMES;

		anchor_over(a, p, slid ? ANCHOR_NOTE_SLID : ANCHOR_NOTE_FOREIGN);
		return;
	}
	if (!ANCHOR_CHECK(CHAIN_ADDR,
			  a->addrs[masked(steps, KRAIT_ANCHOR_FRAMES - 1)] == p->lpf_addr)) {
		if (anchor_is_sliding(a, p, steps)) {
			/* Or somebody else wrote it: either way a full walk must meet it again. */
			a->state = ANCHOR_WRITTEN;
			return;
		}
		anchor_over(a, p, confirmed || !steps ? ANCHOR_NOTE_FOREIGN : ANCHOR_NOTE_SLID);
		return;
	}
	/* An anchor that slid must be met again before it is trusted: see "Other profilers" above. */
	p->delta = confirmed && ANCHOR_CHECK(NOT_SLID, steps == 0);
	p->confirm = !p->delta;
	p->steps = (__u32)steps;
}

/*
 * An audit takes one step per frame, so deeper stacks are audited less often: at most
 * ANCHOR_AUDIT_DEPTH steps per audit_every deltas. The count goes on from one anchor to the next,
 * so short-lived ones are audited, too.
 */
static __always_inline void anchor_plan_audit(const struct anchor *a, struct anchor_plan *p)
{
	__u64 due = p->audit_every;

	if (a->depth > ANCHOR_AUDIT_DEPTH)
		due = due * a->depth / ANCHOR_AUDIT_DEPTH;
	p->audit = due && (__u32)(a->deltas - a->audited) + 1 >= due;
}

/*
 * What we read of the anchor is consistent only if user space has not begun to write it meanwhile.
 * If it has, the epoch of our state is over, and the fields may be half those of the next one.
 */
static __always_inline void anchor_recheck(const struct anchor *a, struct anchor_plan *p)
{
	barrier();
	if (ANCHOR_CHECK(EPOCH_STILL, *(const volatile __u64 *)&a->epoch == p->epoch))
		return;
	p->confirm = 0;
	p->delta = 0;
	p->note = ANCHOR_NOTE_NONE;
}

/* Called before the walk, which is a full one unless the anchor allows less. */
static __always_inline void anchor_decide(struct anchor *a, struct anchor_plan *p)
{
	p->confirm = 0;
	p->delta = 0;
	p->audit = 0;
	p->steps = 0;
	p->note = ANCHOR_NOTE_NONE;
	if (!ANCHOR_CHECK(EPOCH_SET, p->epoch != 0) ||
	    !ANCHOR_CHECK(THREAD_STATE, a->tstate_addr == p->tstate_addr))
		return;
	if (!ANCHOR_CHECK(EPOCH_SAME, a->state_epoch == p->epoch)) {
		a->state_epoch = p->epoch;
		a->state = ANCHOR_WRITTEN;
	}
	if (a->state != ANCHOR_OVER)
		anchor_locate(a, p);
	anchor_recheck(a, p);
	if (p->delta)
		anchor_plan_audit(a, p);
}

/* Tells the walk which frame to look for. Called after walk_begin(). */
static __always_inline void anchor_aim(const struct anchor_plan *p, struct walker *w)
{
	if (p->confirm || p->delta)
		w->mark_addr = p->lpf_addr;
	w->stop_at_mark = p->delta && !p->audit;
}

/*
 * Called after the walk, before its frames are used: an audit that could not reach the root,
 * because the stack is too deep, becomes a delta.
 */
static __always_inline void anchor_shorten(struct anchor_plan *p, struct walker *w)
{
	if (!p->audit || !w->mark_met || w->reason != REASON_DEPTH)
		return;
	p->audit = 0;
	w->frame_cnt = w->mark_index + 1;
	w->reason = REASON_PYTHON;
}

/* Called after the walk: records what it proved. Only a whole chain proves anything. */
static __always_inline void anchor_settle(struct anchor *a, struct anchor_plan *p,
					  const struct walker *w)
{
	if (!ANCHOR_CHECK(MET, w->mark_met) || !ANCHOR_CHECK(WHOLE, w->reason == REASON_PYTHON))
		/* between two stores of a return, or now on another chain: stay with the full walk */
		return;
	if (p->delta && !p->audit) {
		p->note = ANCHOR_NOTE_DELTA;
		a->deltas++;
		a->delta_frames += w->frame_cnt;
	} else if (p->delta) {
		p->note = ANCHOR_NOTE_AUDIT;
		a->depth = w->frame_cnt;
		a->audited = a->deltas;
	} else if (p->confirm) {
		a->depth = w->frame_cnt;
		copy_words(a->addrs, w->chain, w->chain_cnt, KRAIT_ANCHOR_FRAMES);
		a->addr_cnt = w->chain_cnt;
		a->seq = p->seq;
		a->state = ANCHOR_CONFIRMED;
		p->note = ANCHOR_NOTE_CONFIRM;
	}
}

/* The record did not reach user space, so it confirmed nothing. */
static __always_inline void anchor_unsent(struct anchor *a, const struct anchor_plan *p)
{
	if (ANCHOR_CHECK(SENT, p->note == ANCHOR_NOTE_CONFIRM))
		a->state = ANCHOR_WRITTEN;
}

#endif /* KRAIT_BPF_PYTHON_ANCHOR_H */
