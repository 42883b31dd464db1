/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * naming.h - turns a sampled Python frame into a node of the profile: its function's name and file,
 * its line.
 *
 * Must hold: a frame that cannot be named with certainty is an unknown function, and counted.
 */
#ifndef KRAIT_RECORD_SAMPLES_NAMING_H
#define KRAIT_RECORD_SAMPLES_NAMING_H

#include <linux/types.h>
#include <stdbool.h>

struct record_sample;
struct frame;
struct items;
struct named;
struct process;
struct profile;

/* Recently named places: most samples hit one of them. */
#define NAMING_MEMO_BITS 9
struct naming_memo {
	__u64 node; /* tag in the dictionary */
	__u32 parent, code; /* ids in the dictionary */
	__u32 instr; /* where in the code, and the opcode there */
};

/* All zeroes initially, except the profile and the processes. */
struct naming {
	struct profile *profile; /* borrowed */
	struct processes *processes; /* borrowed */
	struct kept_sources *sources; /* borrowed; NULL: source is not kept */
	unsigned logged; /* unknown functions that were logged, up to a limit */
	struct naming_memo memos[1 << NAMING_MEMO_BITS];
};

/* Finds the roles of the first cnt items. last: the list that was named last, which keeps them. */
void naming_roles(struct process *p, const struct record_sample *record, struct items *items,
		  __u32 cnt, struct named *last);
/* enum code_role and ITEM_HAS_ROLES; 0 if its code is unknown. */
unsigned naming_role(struct process *p, const struct record_sample *record, const struct frame *f);
/* The frame's node below its caller's; the caller's own node if the frame is hidden. */
__u32 naming_node(struct naming *n, struct process *p, __u32 parent,
		  const struct record_sample *record, const struct frame *f);

#endif /* KRAIT_RECORD_SAMPLES_NAMING_H */
