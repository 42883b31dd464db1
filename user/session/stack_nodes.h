/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_nodes.h - the node of a whole stack: joins Python and native frames, and names what is new
 * since the thread's last stack.
 *
 * Must hold: whatever is reused from the last stack equals what naming it again would give: tags of
 * kept frames (stack/stacks.h) are valid only below the same root, with the same native frames in
 * between.
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
	struct naming naming; /* includes the profile, which is borrowed */
	struct native_part *natives; /* borrowed; NULL: Python frames only */
	enum async_mode async;
	/* Samples with tasks, and those among them whose chain may go on. */
	__u64 task_chains, task_chains_cut;
	__u64 task_chains_late; /* samples without tasks that may have had some */
};

/* The node of a merged stack, below root; 0: no room, or root is 0. */
__u32 stack_nodes_of(struct stack_nodes *n, struct process *p, __u32 root,
		     const struct record_sample *record, struct stack *stack);
/*
 * Adds the mark for garbage collection to the same stack, whose leaf is node: after the frame at
 * frame_addr, or after the last Python frame if that is 0. Returns 0 without room. *ret_found: the
 * frame was found; otherwise node is returned unchanged.
 */
__u32 stack_nodes_collecting(struct stack_nodes *n, const struct stack *stack, __u32 node,
			     __u64 frame_addr, bool *ret_found);
/* Adds the native frames of a sample without Python frames, below the mark that says why. */
__u32 stack_nodes_native(struct stack_nodes *n, struct process *p, __u32 node,
			 const struct record_sample *record);

#endif /* KRAIT_SESSION_STACK_NODES_H */
