/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stacks.h - the last whole stack of a thread, root first.
 *
 * A record is a full walk, or a delta that ends at the thread's anchor (bpf/anchor.h): then the rest
 * is what the full walk that confirmed this anchor found below it. Merging also yields the number of unchanged
 * frames on the root side, so that only new frames need names. Each frame has a tag for the consumer that names
 * them.
 *
 * Whoever keeps the thread keeps its stack, and forgets it with the thread; struct stacks bounds the
 * memory of all of them together.
 *
 * Must hold: a delta whose base is not here is refused, never guessed; bounded memory (the stacks of
 * the least recently sampled threads are emptied, which costs time, never truth).
 */
#ifndef KRAIT_STACK_STACKS_H
#define KRAIT_STACK_STACKS_H

#include <linux/types.h>
#include <stdbool.h>

#include "abi.h"

/* Frames held over all threads: 28 bytes each, so 28 MiB at the most. */
#define STACKS_MAX_FRAMES (1U << 20)

struct stacks;
struct last_stack;

/* What the consumer showed between the Python frames of a stack; its own, kept with the thread. */
struct stack_trail {
	struct trail_step *steps;
	__u32 cnt, cap;
	__u64 digest; /* of what addresses meant then */
};

struct trail_step {
	__u64 address;
	__u32 kind;
	__u32 before; /* frames of the stack on its root side */
};

/* One thread's stack; valid until the next call. */
struct stack {
	const struct frame *frames; /* root first */
	__u32 *tags; /* the consumer's, one per frame; those of kept frames are as it left them */
	__u64 root_tag; /* the consumer's, for what the stack as a whole hangs on; 0 at first */
	__u32 cnt;
	__u32 kept; /* frames on the root side that did not change since the last record */
	__u32 survived; /* kept, and the next ones if only their position in the code has changed */
	__u32 reused; /* frames that the record did not carry: a delta's base */
	bool mismatch; /* an audit has found the base to be wrong */
	struct stack_trail trail;
	__u64 chain; /* the consumer's: what of the stack's tags depends on what lies at chain_at */
	__u32 chain_at;
	__u32 before; /* the consumer's: frames on the root side that are no part of this thread's own chain */
	bool own_tags; /* set by the consumer: tags depend on native frames too, so those of a base are not reused */
};

struct stacks_stats {
	__u64 full, delta; /* records */
	__u64 frames_new, frames_reused; /* frames that records carried, and that they did not */
	__u64 confirmed, audited, mismatched, no_base;
	__u64 evicted; /* stacks emptied for want of memory */
};

/* NULL and errno on failure. */
struct stacks *stacks__new(void);
/* Every stack has been forgotten. */
void stacks__free(struct stacks *stacks);

/*
 * Takes in the frames of a record (leaf first, as they come). *of: the stack of that thread, NULL before
 * its first record.
 *  0        *ret is the thread's whole stack
 *  -ESTALE  a delta whose base is not here, or not the one it was taken against
 *  -ENOMEM
 * Frames of a full walk are not "kept" over a change of the code generation: the same address may
 * mean another code object. Those of a delta's base are alive and are.
 */
int stacks__merge(struct stacks *stacks, struct last_stack **of, const struct record_sample *record,
		  const struct frame *frames, struct stack **ret)
	__attribute__((warn_unused_result));
/* The thread has gone, or has another image. *of is NULL then. */
void stacks__forget(struct stacks *stacks, struct last_stack **of);

const struct stacks_stats *stacks__stats(const struct stacks *stacks);

#endif /* KRAIT_STACK_STACKS_H */
