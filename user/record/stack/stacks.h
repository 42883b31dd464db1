/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stacks.h - the last whole stack of a thread, root first.
 *
 * A record is either a full walk, or a delta that ends at the thread's anchor (bpf/python/anchor.h): then
 * the rest is what the full walk that confirmed this anchor found below it. Merging also says how
 * many frames on the root side are unchanged, and keeps what the consumer has named (items.h).
 *
 * The owner of a thread also keeps its stack, and must forget it with the thread; struct stacks
 * bounds the memory of all stacks together.
 *
 * Must hold: a delta whose base is not here is refused, never guessed; memory is bounded (the
 * stacks of the least recently sampled threads are emptied, which costs time, never truth).
 */
#ifndef KRAIT_RECORD_STACK_STACKS_H
#define KRAIT_RECORD_STACK_STACKS_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"
#include "profile/items.h"

/* Frames and named items held over all threads: 24 bytes each, so at most 24 MiB. */
#define STACKS_MAX_FRAMES (1U << 20)

struct stacks;
struct last_stack;

/* One thread's stack; valid until the next call. */
struct stack {
	const struct frame *frames; /* root first */
	__u32 cnt;
	/*
	 * Root-side frames unchanged since the consumer set this to cnt, because it has named just
	 * these
	 */
	__u32 kept;
	/* those unchanged since the last record, and the next that differ only in their position */
	__u32 survived;
	__u32 reused; /* frames that the record did not carry: a delta's base */
	bool mismatch; /* an audit has shown that the base was wrong */
	struct named named; /* the consumer's: what it has named last */
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
 * If the code generation has changed, the same address may now hold another code object, though not
 * in a delta's base, whose frames are alive: stack.reused.
 */
int stacks__merge(struct stacks *stacks, struct last_stack **of, const struct record_sample *record,
		  const struct frame *frames, struct stack **ret)
	__attribute__((warn_unused_result));
/* The thread has gone, or has another image. Sets *of to NULL. */
void stacks__forget(struct stacks *stacks, struct last_stack **of);

const struct stacks_stats *stacks__stats(const struct stacks *stacks);

#endif /* KRAIT_RECORD_STACK_STACKS_H */
