/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * naming.h - a Python frame as it was sampled becomes a node of the profile: its function's name and
 * file, its line.
 *
 * Must hold: a frame that cannot be named for sure is an unknown function, and counted.
 */
#ifndef KRAIT_SESSION_NAMING_H
#define KRAIT_SESSION_NAMING_H

#include <linux/types.h>
#include <stdbool.h>

struct record_sample;
struct frame;
struct process;
struct profile;

/* Places that were named lately: most samples are of one. */
#define NAMING_MEMO_BITS 9
struct naming_memo {
	__u64 node; /* tag in the dictionary */
	__u32 parent, code; /* ids there */
	__u32 instr; /* where in the code, and the opcode there */
};

/* All zeroes at first, but for the profile. */
struct naming {
	struct profile *profile; /* borrowed */
	unsigned logged;
	struct naming_memo memos[1 << NAMING_MEMO_BITS];
};

/* Is it a function of asyncio's, or of uvloop's? */
bool naming_is_asyncio(struct naming *n, struct process *p, const struct record_sample *record,
		       const struct frame *f);
/* Is it a function that runs asyncio's event loop, and not the program's? */
bool naming_is_event_loop(struct naming *n, struct process *p, const struct record_sample *record,
			  const struct frame *f);
/* Is it where a thread begins: a program, or a thread of threading? */
bool naming_is_thread_root(struct naming *n, struct process *p, const struct record_sample *record,
			   const struct frame *f);
/* The node of the frame below that of its caller; the caller's own where it shall not be seen. */
__u32 naming_node(struct naming *n, struct process *p, __u32 parent,
		  const struct record_sample *record, const struct frame *f);

#endif /* KRAIT_SESSION_NAMING_H */
