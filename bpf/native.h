/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native.h - the C side of the stack: from the user registers along the chain of frame pointers.
 *
 * A function that keeps a frame pointer has pushed its caller's, right below the return address, and
 * points at that place: [fp] is the caller's fp, [fp + 8] where it goes on. x86-64 and arm64 agree in
 * this. Each frame is noted with its fp, which says where on the stack it lies: user space joins
 * native and Python frames by these addresses (user/stack/join.h).
 *
 * A function without a frame of its own, at its first instruction or by the compiler's choice, has
 * its caller's fp: at the leaf its ip is noted with that fp, and the chain goes on as perf's does;
 * user space puts the caller in between where .eh_frame says that it may (session/mixed.c). A
 * function that uses the register for something else ends the chain. That is where rows made of
 * .eh_frame will take over: native_step() has the place.
 *
 * Must hold: at most KRAIT_MAX_NATIVE steps; addresses only grow, in a span that a stack can have;
 * a frame whose fp could not be followed is noted with fp 0. Built for the host, too (read.h).
 */
#ifndef KRAIT_NATIVE_H
#define KRAIT_NATIVE_H

/* The largest stack that is believed, from the stack pointer up. */
#define NATIVE_MAX_SPAN (1ULL << 30)

/* What the unwinder needs of the user registers. */
struct native_regs {
	__u64 ip, sp, fp;
};

/* Loop state; in per-CPU memory. */
struct native_walk {
	__u64 ip, fp; /* of the frame that is next */
	__u64 low; /* its fp must not be below */
	__u64 high;
	__u64 pair[2]; /* [fp], [fp + 8] */
	__u32 cnt; /* frames noted */
	__u32 reason; /* enum native_reason, valid when native_step() returned 1 */
};

static __always_inline void native_begin(struct native_walk *w, const struct native_regs *regs)
{
	w->ip = regs->ip;
	w->fp = regs->fp;
	w->low = regs->sp;
	w->high = regs->sp + NATIVE_MAX_SPAN;
	w->cnt = 0;
	w->reason = NATIVE_LIMIT;
}

/* Can there be a frame at w->fp? Then pair is what is there. */
static __always_inline __u32 native_look(struct native_walk *w)
{
	/* Zero is what the start of a process and of a thread have; at the leaf it says nothing. */
	if (!w->fp && w->cnt)
		return NATIVE_COMPLETE;
	if (w->fp & 7 || w->fp < w->low || w->fp >= w->high)
		return NATIVE_NO_FRAME_POINTER;
	if (read_user(w->pair, sizeof(w->pair), w->fp))
		return NATIVE_FAULT;
	return NATIVE_NONE;
}

/*
 * Notes one frame in *out and goes to its caller. 0 to go on, 1 when the walk is over and w->reason
 * says how. Rows of .eh_frame (later): where native_look() finds no frame, a row for w->ip may.
 */
static __always_inline int native_step(struct native_walk *w, struct native_frame *out)
{
	__u32 reason = native_look(w);

	out->ip = w->ip;
	out->frame_addr = reason == NATIVE_NONE ? w->fp : 0;
	w->cnt++;
	if (reason != NATIVE_NONE) {
		w->reason = reason;
		return 1;
	}
	w->low = w->fp + sizeof(w->pair);
	w->fp = w->pair[0];
	w->ip = w->pair[1];
	if (!w->ip) {
		w->reason = NATIVE_COMPLETE;
		return 1;
	}
	return w->cnt >= KRAIT_MAX_NATIVE;
}

#endif /* KRAIT_NATIVE_H */
