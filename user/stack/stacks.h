/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stacks.h - the last whole stack of every thread, root first.
 *
 * Merging a record into it tells how many frames on the root side are what they were, so whoever
 * names frames does so for the new ones only. A tag of each frame belongs to that consumer.
 *
 * Must hold: bounded memory (the least recently sampled threads are forgotten, which costs time,
 * never truth); a reused thread id inherits nothing.
 */
#ifndef KRAIT_STACK_STACKS_H
#define KRAIT_STACK_STACKS_H

#include <linux/types.h>
#include <sys/types.h>

#include "abi.h"

/* Frames held over all threads: 28 bytes each, so 28 MiB at the most. */
#define STACKS_MAX_FRAMES (1U << 20)

struct stacks;

/* One thread's stack; owned by struct stacks, valid until the next call. */
struct stack {
	const struct frame *frames; /* root first */
	__u32 *tags; /* the consumer's, one per frame; those of kept frames are as it left them */
	__u32 root_tag; /* the consumer's, for what the stack as a whole hangs on; 0 at first */
	__u32 cnt;
	__u32 kept; /* frames on the root side that did not change since the last record */
};

/* NULL and errno on failure. */
struct stacks *stacks__new(void);
void stacks__free(struct stacks *stacks);

/*
 * Takes in the frames of a record (leaf first, as they come). NULL when out of memory. A change of
 * the code generation keeps nothing: the same address may mean another code object.
 */
struct stack *stacks__merge(struct stacks *stacks, const struct event_sample *event,
			    const struct frame *frames);
void stacks__remove_thread(struct stacks *stacks, pid_t tid);
void stacks__remove_process(struct stacks *stacks, pid_t pid);

#endif /* KRAIT_STACK_STACKS_H */
