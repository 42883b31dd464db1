/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * greenlet_chains.h - the parents of the greenlet that a thread runs (bpf/greenlets.h) in its stack: the frames at which they
 * are suspended come before those of the greenlet, the main greenlet's first.
 *
 *   main greenlet: <module> > serve > switch_in > hub: run > the running greenlet: handle > leaf
 *
 * All frames of the parents stay, a hub's too. What is made of a stack (asyncio's tasks, native frames, marks) is made of the
 * longer one: so a task whose coroutine has switched to a greenlet is found in it.
 *
 * Must hold: a sample without parents costs a comparison, and its stack is the thread's own; what ends the parents early
 * leaves a mark.
 */
#ifndef KRAIT_SESSION_GREENLET_CHAINS_H
#define KRAIT_SESSION_GREENLET_CHAINS_H

#include <linux/types.h>

struct naming;
struct process;
struct record_sample;
struct stack;

struct greenlet_chains;

struct greenlet_chains_stats {
	__u64 chains; /* samples of a greenlet with parents */
	__u64 cut; /* of them those with a mark */
	__u64 late; /* samples of a greenlet whose parents the kernel did not know of yet */
	__u64 unknown; /* of one whose parents nobody will know of: another build of greenlet or of Python */
};

/* NULL: out of memory. */
struct greenlet_chains *greenlet_chains__new(void) __attribute__((warn_unused_result));
void greenlet_chains__free(struct greenlet_chains *g);

/*
 * The stack with the parents' frames, stack.before of them; valid until the next call. The thread's own where there are none. NULL:
 * out of memory.
 */
struct stack *greenlet_chains__put(struct greenlet_chains *g, const struct record_sample *record,
				   struct stack *own) __attribute__((nonnull));
/*
 * The marks that the stack (as put() has made it) has at the root, below node: that of the last one; 0 without room. While nobody
 * knows where the process has its greenlets, a stack that does not begin as threads do may be that of one.
 */
__u32 greenlet_chains__marks(struct greenlet_chains *g, struct naming *n, struct process *p,
			     const struct record_sample *record, const struct stack *stack,
			     __u32 node) __attribute__((nonnull));

const struct greenlet_chains_stats *greenlet_chains__stats(const struct greenlet_chains *g)
	__attribute__((nonnull));

#endif /* KRAIT_SESSION_GREENLET_CHAINS_H */
