/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * join.h - native and Python frames as one stack, by where they lie.
 *
 * An activation of the interpreter's eval loop keeps an entry frame among its locals; the Python
 * frames above it, down to the next entry frame, ran in that activation. A native frame's address is where its
 * caller's part of the stack begins: with a[0] < a[1] < ..., leaf first, entry frame E belongs to frame i
 * where a[i-1] <= E < a[i]. Where a signal has led to another stack the next part begins anew. No names, no
 * counting: a stripped binary, a tail-calling or a compiled eval loop join as well.
 *
 * Before 3.11 there is no such address, but a Python frame has exactly one evaluation of its own, and that no other:
 * _PyEval_EvalFrameDefault (Python/ceval.c, 3.8 to 3.10) makes its frame the thread's (tstate->frame = f) when it begins and
 * gives that back (= f->f_back) on its only way out; it calls itself for each Python function, and gen_send_ex()
 * (Objects/genobject.c) calls it anew whenever a generator or coroutine goes on, whose frame is in the chain for just that
 * long; no other code of CPython's puts a frame into the chain. So both are in one order, and are paired from the root, only
 * where both chains are whole and of one length. At the leaf an evaluation may have begun and not made its frame known, or
 * have given it back already: there can be one more. A replaced evaluator (PEP 523) that runs frames without calling
 * CPython's has less, and an extension that puts frames of its own into the chain more frames: these are not joined, and a
 * mark says so. 3.10's chain of struct _cframe (PyThreadState.cframe) lies on the C stack and would give each evaluation an
 * address, but says of no frame which one is its: the same order would pair them.
 *
 * What belongs to the interpreter itself is left out unless asked for.
 *
 * Where the native chain ends early (or is that of a fibre, which has a stack of its own), or the pairs do
 * not work out, the Python frames that it did not reach follow below a mark: C code may be anywhere between
 * them. Where a frame pointer alone has led to the caller, in code that need not keep one, a mark says that
 * others may be missing between the two; what lies further down goes on being joined.
 *
 * The stack of a greenlet ends below its first Python frame. While greenlets are being switched the C stack may be
 * another's than the Python frames are (bpf/exposed.h): then what greenlet itself does belongs to the frame at the
 * leaf, and an activation is below that where its entry frame is still in its place, and the native frame around it.
 * The outermost one need not be: the stack ends there.
 *
 * Must hold: every Python frame is in the result once, in order; so is every native frame that is
 * wanted.
 */
#ifndef KRAIT_STACK_JOIN_H
#define KRAIT_STACK_JOIN_H

#include <linux/types.h>
#include <stdbool.h>

#include "abi.h"
#include "proc/origin.h"

#define JOIN_NONE (~0U)

/* What is known of the C stack, with greenlet in it. */
enum join_chain {
	JOIN_CHAIN_ANY, /* while greenlet runs it may be another's */
	JOIN_CHAIN_OWN, /* it is that of the Python frames */
	JOIN_CHAIN_SWITCHING, /* see above */
};

struct join_input {
	const struct frame *frames; /* root first, entry frames among them */
	__u32 frame_cnt;
	const struct native_frame *natives; /* leaf first */
	const __u8 *origins; /* enum module_origin of each */
	/*
	 * The native frame that runs the Python frame at the leaf, wherever that lies: code of the JIT, whose
	 * callers need not be known. JOIN_NONE: nothing but addresses tells.
	 */
	__u32 evaluator;
	const bool *guessed; /* of each: its caller may be another than the next one; NULL: of none */
	__u32 native_cnt;
	__u32 kernel_cnt; /* frames of the kernel, above all others */
	__u32 chain; /* enum join_chain */
	bool taken; /* natives[] is valid; otherwise it is ignored, and no mark says that frames are missing */
	bool unknown; /* there was native code that could not be resolved: JOIN_UNKNOWN stands for it */
	bool ended; /* the native chain came to its end (NATIVE_COMPLETE) */
	/*
	 * Each Python frame has an evaluation of its own, and there are no entry frames (3.8 to 3.10): then
	 * evals says which natives are evaluations. NULL: entry frames say it.
	 */
	const bool *evals;
	bool interpreter; /* show the interpreter's own frames and the start code, too */
};

enum join_kind {
	JOIN_PYTHON,
	JOIN_NATIVE,
	JOIN_KERNEL,
	JOIN_TRUNCATED, /* native frames are missing here */
	JOIN_UNKNOWN, /* native frames are missing, here and anywhere towards the root */
};

struct join_item {
	__u32 kind; /* enum join_kind */
	__u32 index; /* in frames, natives, or the kernel's list; 0 of a mark */
};

/* Room for the result, owned by the caller and used again and again; all zeroes at first. */
struct join {
	struct join_item *items; /* root first; items with JOIN_PYTHON are no entry frames */
	__u32 cnt;
	struct join_item *room; /* that items lie in, at its end */
	__u32 cap;
	bool complete; /* every activation was found in the native chain, which came to its end */
	bool guessed; /* a caller is a guess */
	/* Of user mode: what is shown above all else is not the leaf, but this caller; 0: no caller. */
	__u32 bare;
	/* What is shown above all else is no native frame: it covers the leaf, which may be shown below what it evaluates. */
	bool covered;
};

/* 0 or -ENOMEM. */
int join_stacks(struct join *j, const struct join_input *in) __attribute__((warn_unused_result));
void join_free(struct join *j);

#endif /* KRAIT_STACK_JOIN_H */
