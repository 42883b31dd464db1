/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_walk.h - the kernel's own walker over memory that can be read from user space: a process, a
 * core file, an image of a test.
 *
 * The steps are those of bpf/python/thread.h and bpf/python/walk.h, the loops those of bpf/sampler.bpf.c;
 * tests/bpf proves that both find the same in the same memory. A running thread does not hold
 * still, so the result is a stack only if the memory has not changed.
 *
 * Must hold: at most KRAIT_MAX_THREADS and KRAIT_MAX_FRAMES steps, whatever the memory contains.
 */
#ifndef KRAIT_PYTHON_WALK_STACK_WALK_H
#define KRAIT_PYTHON_WALK_STACK_WALK_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"

struct memory;

/* One interpreter. All pointers are borrowed. */
struct stack_walk {
	const struct memory *memory;
	const struct py_offsets *offsets;
	__u64 runtime_addr; /* of _PyRuntime */
	__u32 search_part; /* thread states that one search may visit; 0: KRAIT_MAX_THREADS */
	bool fingerprints; /* take a fingerprint of each code object */
	__u32 number; /* of the thread, if that may tell its state, too (bpf/python/thread.h); else 0 */
	__u8 garbage; /* tests: fills scratch memory, since the kernel's is never cleared */
};

/* From stack_walk_thread(), the frames are valid only if the reason's outcome is not lost. */
struct stack_walk_result {
	enum reason reason;
	__u32 frame_cnt;
	__u64 tstate_addr, interp_addr;
	struct frame frames[KRAIT_MAX_FRAMES]; /* leaf first */
};

/*
 * The stack of the thread with that thread pointer. slot: what is remembered between calls; NULL:
 * nothing.
 */
void stack_walk_thread(const struct stack_walk *x, __u64 thread_ptr, struct thread_slot *slot,
		       struct stack_walk_result *ret);
/* The stack of a thread state. */
void stack_walk_state(const struct stack_walk *x, __u64 tstate_addr, struct stack_walk_result *ret);
/*
 * The chain of a frame that its thread does not run: a greenlet's. It ends where no more frames
 * come, in an entry frame or not: REASON_PYTHON, or whatever was in the way. Does not follow
 * activations (3.11, 3.12), and leaves out 3.11's entry frames.
 */
void stack_walk_chain(const struct stack_walk *x, __u64 frame_addr, struct stack_walk_result *ret);
/* The thread's active state, from all lists, without a retry; *ret has no frames. */
void stack_walk_search(const struct stack_walk *x, __u64 thread_ptr, struct stack_walk_result *ret);
/* Is the remembered state still this thread's active one? */
bool stack_walk_still_valid(const struct stack_walk *x, __u64 thread_ptr, __u64 tstate_addr,
			    __u64 interp_addr);

#endif /* KRAIT_PYTHON_WALK_STACK_WALK_H */
