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

#include "session/naming.h"

struct native_part;
struct process;
struct record_sample;
struct stack;

struct stack_nodes {
	struct naming naming; /* with the profile, which is borrowed */
	struct native_part *natives; /* borrowed; NULL: Python frames only */
};

/* The node of a stack that has been merged, below root; 0 without room, and for a root of 0. */
__u32 stack_nodes_of(struct stack_nodes *n, struct process *p, __u32 root,
		     const struct record_sample *record, struct stack *stack);
/* The native frames of a sample without Python ones, below the mark that says why. */
__u32 stack_nodes_native(struct stack_nodes *n, struct process *p, __u32 node,
			 const struct record_sample *record);

#endif /* KRAIT_SESSION_STACK_NODES_H */
