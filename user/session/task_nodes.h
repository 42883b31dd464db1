/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * task_nodes.h - puts the asyncio tasks of a sample (bpf/tasks.h) into its stack: the frames of
 * awaiting tasks go before those of the running task, and the frames of the event loop go away.
 *
 * A thread's own stack is
 *   callers of the loop > asyncio.run ... Handle._run > the running task's coroutine > what that
 *   calls
 *
 * and becomes
 *   callers of the loop > [for each task, the outermost first: its suspended frames] > the
 *   coroutine > ...
 *
 * The coroutine is identified by the address of its frame, the loop's frames by their names and
 * files. A task that is just being entered or left has no frame on the stack: its chain goes after
 * the loop.
 *
 * A task that starts eagerly runs on the stack of its creator (TASK_EAGER). The chain is then that
 * of the creator, or of the outermost one if they create each other, and goes before the
 * creator's coroutine; what lies between that and the new task stays as it is. If something other
 * than a task has started it, it has no chain. If the new task has not begun yet or is just being
 * left, its creator may be unknown; a mark says so.
 *
 * Must hold: a frame of the thread's own is left out only if it is the loop's; a chain that ends
 * early gets a mark.
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
	ASYNC_BOTH, /* that of its tasks, with the loop */
};

/* The digest of a late plan: the loop's frames stay, followed by a mark. */
#define TASK_PLAN_LATE (~0ULL)

/* What to make of one sample's tasks. */
struct task_plan {
	const struct frame *parts; /* as in the record */
	__u32 cnt; /* their number; 0: no tasks, or unknown */
	__u32 at; /* frames of the stack, on the root side, that precede the chain */
	__u32 outermost; /* the part of the outermost task on the stack; 0: the running one */
	__u32 skip; /* leading parts that are the thread's own frames */
	__u32 cycle_at; /* parts from there on repeat earlier ones */
	bool late; /* the kernel may not have known the tasks yet: put a mark after the loop */
	bool unknown; /* who creates the running task: a mark comes instead of the chain */
	__u64 digest; /* of what the chain looks like; 0: none */
	enum async_mode mode;
};

/* Makes the plan for a merged stack. */
void task_plan_make(struct task_plan *ret, struct naming *n, struct process *p,
		    const struct record_sample *record, const struct stack *stack,
		    enum async_mode mode);
/* May tasks be missing at the end of the chain? */
bool task_plan_is_cut(const struct task_plan *plan);
/* Is that frame of the stack (root first) left out? */
bool task_plan_folds(const struct task_plan *plan, struct naming *n, struct process *p,
		     const struct record_sample *record, const struct stack *stack, __u32 index);
/* The node of the last frame of the chain, below node; 0: no room. */
__u32 task_plan_node(const struct task_plan *plan, struct naming *n, struct process *p,
		     const struct record_sample *record, __u32 node);

/* If the stack's frame f is the coroutine of a task that another one creates: that task's name. */
__u32 task_plan_created(const struct task_plan *plan, struct naming *n, const struct frame *f,
			__u32 node);

/* The node of a suspended task, below node: for a record that has only its chain. */
__u32 task_suspended_node(struct naming *n, struct process *p, const struct record_sample *record,
			  __u32 node);

#endif /* KRAIT_SESSION_TASK_NODES_H */
