/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * task_nodes.h - the asyncio tasks of a sample (bpf/tasks.h) in its stack: the frames of those that await come
 * before those of the running task, and the frames of the event loop go.
 *
 * A thread's own stack is
 *   callers of the loop > asyncio.run ... Handle._run > the running task's coroutine > what that calls
 * and becomes
 *   callers of the loop > [for each task, the outermost first: its suspended frames] > the coroutine > ...
 *
 * The coroutine is known by the address of its frame, the loop's frames by their names and files. A task that is
 * just being begun or left has no frame on the stack: its chain comes behind the loop. If that is an eager task,
 * which another one begins, the stack is that one's.
 *
 * Must hold: a frame of the thread's own is left out only if it is the loop's; what ends a chain early leaves a mark.
 */
#ifndef KRAIT_SESSION_TASK_NODES_H
#define KRAIT_SESSION_TASK_NODES_H

#include <linux/types.h>
#include <stdbool.h>

struct frame;
struct naming;
struct process;
struct record_sample;
struct stack;

enum async_mode {
	ASYNC_OFF, /* the thread's own stack */
	ASYNC_TASKS, /* that of its tasks, without the loop */
	ASYNC_BOTH, /* with it */
};

/* The digest of a plan that is late: the loop's frames are there, and a mark. */
#define TASK_PLAN_LATE (~0ULL)

/* What is to be made of one sample's tasks. */
struct task_plan {
	const struct frame *parts; /* as they came */
	__u32 cnt; /* of them; 0: there are no tasks, or nobody knows */
	__u32 at; /* frames of the stack, on the root side, before the chain */
	__u32 skip; /* parts at the beginning that are the thread's own frames */
	__u32 cycle_at; /* parts from there on were in the chain before */
	bool late; /* there may be tasks, and the kernel did not know of them yet: a mark behind the loop says so */
	bool hidden; /* the chain is not shown, the stack has what its thread does */
	__u64 digest; /* of what the chain looks like; 0 none */
	enum async_mode mode;
};

/* The plan for a stack that has been merged. */
void task_plan_make(struct task_plan *ret, struct naming *n, struct process *p,
		    const struct record_sample *record, const struct stack *stack,
		    enum async_mode mode);
/* Tasks may be missing at its end. */
bool task_plan_is_cut(const struct task_plan *plan);
/* Is that frame of the stack (root first) left out? */
bool task_plan_folds(const struct task_plan *plan, struct naming *n, struct process *p,
		     const struct record_sample *record, const struct stack *stack, __u32 index);
/* The node of the last frame of the chain, below node; 0 without room. */
__u32 task_plan_node(const struct task_plan *plan, struct naming *n, struct process *p,
		     const struct record_sample *record, __u32 node);

/*
 * The node of a suspended task, below node: of a record that has its chain, and nothing else.
 */
__u32 task_suspended_node(struct naming *n, struct process *p, const struct record_sample *record,
			  __u32 node);

#endif /* KRAIT_SESSION_TASK_NODES_H */
