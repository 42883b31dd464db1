/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_nodes.h - the node of a whole stack: Python and native frames joined, and what is new in them since the
 * thread's last stack named.
 *
 * Must hold: what is taken from the last stack is what it would be if it were named again: the tags of frames
 * that are kept (stack/stacks.h) are believed below the same root, with the same native frames between.
 */
#ifndef KRAIT_SESSION_STACK_NODES_H
#define KRAIT_SESSION_STACK_NODES_H

#include <linux/types.h>
#include <stdbool.h>

#include "session/naming.h"
#include "session/task_nodes.h"

struct native_part;
struct process;
struct record_sample;
struct stack;

struct stack_nodes {
	struct naming naming; /* with the profile, which is borrowed */
	struct native_part *natives; /* borrowed; NULL: Python frames only */
	enum async_mode async;
	__u64 task_chains,
		task_chains_cut; /* samples with tasks; of them those whose chain may go on */
	__u64 task_chains_late; /* samples with no tasks that may have had some */
};

/* The node of a stack that has been merged, below root; 0 without room, and for a root of 0. */
__u32 stack_nodes_of(struct stack_nodes *n, struct process *p, __u32 root,
		     const struct record_sample *record, struct stack *stack);
/*
 * The same stack, whose leaf is that node, with the mark for garbage that is being collected: behind the frame at
 * that address; behind the last Python frame where that is 0. 0 without room. *ret_found: the frame is there; else
 * the node stays as it is.
 */
__u32 stack_nodes_collecting(struct stack_nodes *n, const struct stack *stack, __u32 node,
			     __u64 frame_addr, bool *ret_found);
/* The native frames of a sample without Python ones, below the mark that says why. */
__u32 stack_nodes_native(struct stack_nodes *n, struct process *p, __u32 node,
			 const struct record_sample *record);

#endif /* KRAIT_SESSION_STACK_NODES_H */
