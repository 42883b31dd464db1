/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_nodes.h - the node of a sample: makes a list of its stack (profile/items.h), has it edited
 * (record/stack/edits.h), and names what differs from the thread's last list.
 *
 * Must hold: a node that is kept is the one that naming the list anew would give. So the comparison
 * begins at the root, and ends at the first name that may change.
 */
#ifndef KRAIT_RECORD_SAMPLES_STACK_NODES_H
#define KRAIT_RECORD_SAMPLES_STACK_NODES_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"
#include "record/samples/naming.h"
#include "record/stack/edits.h"

struct native_part;
struct process;
struct record_sample;
struct stack;

/* About samples of greenlets. */
struct greenlets_stats {
	__u64 chains; /* samples of a greenlet with parents */
	__u64 cut; /* of those, samples with a mark */
	__u64 late; /* samples of a greenlet whose parents the kernel did not know yet */
	/* samples whose parents stay unknown: an unsupported build of greenlet or Python */
	__u64 unknown;
};

struct stack_nodes {
	struct naming naming; /* includes the profile, which is borrowed */
	struct native_part *natives; /* borrowed; NULL: Python frames only */
	enum async_mode async;
	bool whole; /* somebody looks at the lists: what is known of the last one is listed, too */
	/* Samples with tasks, and those among them whose chain may go on. */
	__u64 task_chains, task_chains_cut;
	__u64 task_chains_late; /* samples without tasks that may have had some */
	struct greenlets_stats greenlets;
	struct items items, edited; /* of the current sample; what editors write */
	const struct named *named; /* the current sample's nodes, an entry for each item */
	__u32 root; /* the node that its list hangs on */
	struct named once; /* for samples whose list is not kept */
};

void stack_nodes_free(struct stack_nodes *n) __attribute__((nonnull));

/*
 * The node of a merged stack, below root; 0: no room. reason: how it ended. *ret_collects: it is
 * collecting garbage.
 */
__u32 stack_nodes_of(struct stack_nodes *n, struct process *p, __u32 root,
		     const struct record_sample *record, enum reason reason, struct stack *stack,
		     bool *ret_collects) __attribute__((nonnull));
/* The same for a record that says why it has no Python frames (mark_of()). */
__u32 stack_nodes_foreign(struct stack_nodes *n, struct process *p, __u32 root,
			  const struct record_sample *record) __attribute__((nonnull));
/* The node of a suspended task: for a record that has only its chain. */
__u32 stack_nodes_suspended(struct stack_nodes *n, struct process *p, __u32 root,
			    const struct record_sample *record) __attribute__((nonnull));

/*
 * The frame of the profile that an item of the last sample is shown as; 0: it is not shown. For those
 * who show one sample: n->items is its list, root first.
 */
__u32 stack_nodes_frame(const struct stack_nodes *n, __u32 item) __attribute__((nonnull));

#endif /* KRAIT_RECORD_SAMPLES_STACK_NODES_H */
