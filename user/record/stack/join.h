/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * join.h - joins native and Python frames to one stack, by their addresses.
 *
 * An activation of the interpreter's eval loop keeps an entry frame among its locals; the Python
 * frames above it, down to the next entry frame, ran in that activation. A native frame's address
 * is where its caller's part of the stack begins: with a[0] < a[1] < ..., leaf first, entry frame E
 * belongs to frame i where a[i-1] <= E < a[i]. If a signal has led to another stack, the order
 * starts anew there. This uses no names and no counting: stripped binaries, tail-calling and
 * compiled eval loops join as well.
 *
 * Before 3.11 there is no such address, but each Python frame has exactly one evaluation, and each
 * evaluation one frame. _PyEval_EvalFrameDefault (Python/ceval.c, 3.8 to 3.10) makes its frame the
 * thread's (tstate->frame = f) when it begins and undoes that (= f->f_back) on its only way out. It
 * calls itself for each Python function, and gen_send_ex() (Objects/genobject.c) calls it anew
 * whenever a generator or coroutine resumes, whose frame is in the chain for just that time. No
 * other code in CPython puts a frame into the chain. So both chains have the same order, and are
 * paired if they are whole and of the same length. At the leaf an evaluation may not have published
 * its frame yet, or may have taken it back already: there can be one more. If the native chain was
 * cut they are paired from the leaf, unless the process has had a frame without an evaluation. A
 * replaced evaluator (PEP 523) that runs frames without calling CPython's has fewer
 * evaluations, and an extension that puts frames of its own into the chain has more frames: these
 * are not joined, and a mark says so. 3.10's chain of struct _cframe (PyThreadState.cframe) lies on
 * the C stack and would give each evaluation an address, but does not say which frame belongs to
 * which: it would pair them by the same order.
 *
 * The interpreter's own native frames are left out unless requested.
 *
 * If the native chain ends early (or belongs to a fibre, which has its own stack), or the pairs do
 * not match, the Python frames beyond its end follow below a mark: C code may be anywhere between
 * them. If only a frame pointer has led to a caller, in code that need not keep one, a mark says
 * that frames may be missing between the two; further down joining continues.
 *
 * The stack of a greenlet ends below its first Python frame. While greenlets are being switched the
 * C stack may not belong to the Python frames (bpf/python/greenlet_switching.h). Then greenlet's own native frames
 * belong to the leaf frame, and an activation is placed below them if its entry frame is still in
 * its place, together with the native frame around it. The outermost one need not be: the stack
 * ends there.
 *
 * Must hold: every Python frame is in the result once, in order; so is every native frame that is
 * wanted, except where evaluations cannot be paired for certain: a mark stands for it there.
 */
#ifndef KRAIT_RECORD_STACK_JOIN_H
#define KRAIT_RECORD_STACK_JOIN_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"
#include "process/space/origin.h"
#include "profile/items.h"

#define JOIN_NONE (~0U)

/* What is known about the C stack if greenlet is on it. */
enum join_chain {
	JOIN_CHAIN_ANY, /* while greenlet runs, it may belong to another greenlet */
	JOIN_CHAIN_OWN, /* it belongs to the Python frames */
	JOIN_CHAIN_SWITCHING, /* see above */
};

struct join_input {
	const struct frame *frames; /* root first, entry frames among them */
	__u32 frame_cnt;
	const struct native_frame *natives; /* leaf first */
	const __u8 *origins; /* enum module_origin of each */
	/*
	 * The native frame that runs the leaf Python frame, wherever that lies: code of the JIT,
	 * whose callers may be unknown. JOIN_NONE: only addresses tell.
	 */
	__u32 evaluator;
	/* for each: its real caller may not be the next frame; NULL: all are certain */
	const bool *guessed;
	__u32 native_cnt;
	const __u64 *kernel; /* frames of the kernel, above all others, leaf first */
	__u32 kernel_cnt;
	__u32 kernel_own; /* the first of these are krait's, and not shown */
	bool in_own; /* a mark says so: the interrupted code was krait's */
	__u32 chain; /* enum join_chain */
	bool taken; /* natives[] is valid; if false, show no mark for missing frames */
	bool unknown; /* there was native code that could not be resolved: ITEM_NATIVE_UNKNOWN stands for it */
	bool ended; /* the native chain reached its end (NATIVE_COMPLETE) */
	enum item_mark
		cut; /* the mark for where it was cut: from there to the root frames are missing */
	/*
	 * For 3.8 to 3.10, where each Python frame has its own evaluation and there are no entry
	 * frames: which natives are evaluations. NULL: use the entry frames.
	 */
	const bool *evals;
	__u32 evals_known; /* roles of the natives from this one on are not known yet */
	bool has_frame; /* the leaf's evaluation has certainly one in frames[] */
	bool unevaluated; /* the process has had frames without an evaluation: see struct join */
	bool interpreter; /* show the interpreter's own frames and the start code, too */
};

/* About the result. */
struct join {
	bool complete; /* every activation was found in the native chain, which reached its end */
	bool guessed; /* some caller is a guess */
	bool unevaluated; /* for 3.8 to 3.10: both chains are whole, and some frame has no evaluation */
};

/* Entry frames are hidden items, each before the frames above it. Returns 0 or -ENOMEM. */
int join_stacks(const struct join_input *in, struct items *to, struct join *ret)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_RECORD_STACK_JOIN_H */
