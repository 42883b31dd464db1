/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * greenlet_chains.h - puts the parents of the thread's current greenlet (bpf/greenlets.h) into its
 * stack: the frames at which they are suspended come before those of the greenlet, the main
 * greenlet's first.
 *
 *   main greenlet: <module> > serve > switch_in > hub: run > the running greenlet: handle > leaf
 *
 * All frames of the parents stay, a hub's too. Everything else that happens to a stack (asyncio's
 * tasks, native frames, marks) happens to the longer one: so a task whose coroutine has switched to
 * a greenlet is still found.
 *
 * Must hold: a sample without parents costs one comparison, and its stack is the thread's own; a
 * chain of parents that is cut short gets a mark.
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
	__u64 cut; /* of those, samples with a mark */
	__u64 late; /* samples of a greenlet whose parents the kernel did not know yet */
	/* samples whose parents stay unknown: an unsupported build of greenlet or Python */
	__u64 unknown;
};

/* NULL: out of memory. */
struct greenlet_chains *greenlet_chains__new(void) __attribute__((warn_unused_result));
void greenlet_chains__free(struct greenlet_chains *g);

/*
 * The stack with the parents' frames, stack.before of them, valid until the next call; the thread's
 * own stack if there are none. NULL: out of memory.
 */
struct stack *greenlet_chains__put(struct greenlet_chains *g, const struct record_sample *record,
				   struct stack *own) __attribute__((nonnull));
/*
 * Adds the marks that the stack returned by put() needs at the root, below node. Returns the last
 * one's node; 0: no room. Until it is known where the process has its greenlets, a stack that does
 * not begin as threads do may belong to a greenlet.
 */
__u32 greenlet_chains__marks(struct greenlet_chains *g, struct naming *n, struct process *p,
			     const struct record_sample *record, const struct stack *stack,
			     __u32 node) __attribute__((nonnull));

const struct greenlet_chains_stats *greenlet_chains__stats(const struct greenlet_chains *g)
	__attribute__((nonnull));

#endif /* KRAIT_SESSION_GREENLET_CHAINS_H */
