/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stacks.h - the last whole stack of a thread, root first.
 *
 * A record is either a full walk, or a delta that ends at the thread's anchor (bpf/anchor.h): then
 * the rest is what the full walk that confirmed this anchor found below it. Merging also returns
 * the number of unchanged frames on the root side, so that only new frames need names. Each frame
 * has a tag for the consumer that names them.
 *
 * The owner of a thread also keeps its stack, and must forget it with the thread; struct stacks
 * bounds the memory of all stacks together.
 *
 * Must hold: a delta whose base is not here is refused, never guessed; memory is bounded (the
 * stacks of the least recently sampled threads are emptied, which costs time, never truth).
 */
#ifndef KRAIT_STACK_STACKS_H
#define KRAIT_STACK_STACKS_H

#include <linux/types.h>
#include <stdbool.h>

#include "abi.h"

/* Frames held over all threads: 28 bytes each, so at most 28 MiB. */
#define STACKS_MAX_FRAMES (1U << 20)

struct join_item;
struct stacks;
struct last_stack;

/*
 * What the consumer showed between the Python frames of a stack; it belongs to the consumer, and is
 * kept with the thread.
 */
struct stack_trail {
	/* The joined stack without Python's items; index: how many frames lie on the root side. */
	struct join_item *steps;
	__u32 cnt, cap;
	__u64 digest; /* of what the addresses meant at that time */
};

/* One thread's stack; valid until the next call. */
struct stack {
	const struct frame *frames; /* root first */
	__u32 *tags; /* the consumer's, one per frame; those of kept frames are unchanged */
	__u64 root_tag; /* the consumer's tag of the root that the stack hangs on; initially 0 */
	__u32 cnt;
	__u32 kept; /* root-side frames unchanged since the last record */
	/* kept, plus the next frames that differ only in their position in the code */
	__u32 survived;
	__u32 reused; /* frames that the record did not carry: a delta's base */
	bool mismatch; /* an audit has shown that the base was wrong */
	struct stack_trail trail;
	__u64 chain; /* the consumer's: identifies what lies at chain_at, on which tags depend */
	__u32 chain_at;
	/* the consumer's: root-side frames that are not part of the thread's own chain */
	__u32 before;
	/* set by the consumer: tags depend on native frames, so a base's tags are not reused */
	bool own_tags;
};

struct stacks_stats {
	__u64 full, delta; /* records */
	/* frames that records carried, and frames that they did not have to carry */
	__u64 frames_new, frames_reused;
	__u64 confirmed, audited, mismatched, no_base;
	__u64 evicted; /* stacks emptied for lack of memory */
};

/* NULL and errno on failure. */
struct stacks *stacks__new(void);
/* Call when every stack has been forgotten. */
void stacks__free(struct stacks *stacks);

/*
 * Takes in the frames of a record (leaf first, as they come). *of: the stack of that thread, NULL
 * before its first record.
 *  0        *ret is the thread's whole stack
 *  -ESTALE  a delta whose base is not here, or not the one it was taken against
 *  -ENOMEM
 *
 * Frames of a full walk are not "kept" if the code generation has changed: the same address may now
 * hold another code object. The frames of a delta's base are alive, and are kept.
 */
int stacks__merge(struct stacks *stacks, struct last_stack **of, const struct record_sample *record,
		  const struct frame *frames, struct stack **ret)
	__attribute__((warn_unused_result));
/* The thread has gone, or has another image. Sets *of to NULL. */
void stacks__forget(struct stacks *stacks, struct last_stack **of);

const struct stacks_stats *stacks__stats(const struct stacks *stacks);

#endif /* KRAIT_STACK_STACKS_H */
