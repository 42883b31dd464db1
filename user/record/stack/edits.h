/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * edits.h - editors of a sample's list (items.h), in the order in which record/samples/stack_nodes.c calls
 * them. Each takes a list and makes another one; it knows no process and names nothing.
 *
 * Each returns 0 or -ENOMEM; to is overwritten.
 */
#ifndef KRAIT_RECORD_STACK_EDITS_H
#define KRAIT_RECORD_STACK_EDITS_H

#include <linux/types.h>
#include <stdbool.h>

#include "profile/items.h"

/* ---- greenlets -------------------------------------------------------------------------------- */

/*
 * Puts the parents of the thread's current greenlet (bpf/python/greenlets.h) before its own frames: those
 * at which they are suspended, the main greenlet's first.
 *
 *   main greenlet: <module> > serve > switch_in > hub: run > the running greenlet: handle > leaf
 *
 * All frames of the parents stay, a hub's too. Where the chain is cut short a mark precedes it:
 * *ret_cut.
 */
int edit_parents(const struct items *from, const struct frame *parts, __u32 part_cnt,
		 struct items *to, bool *ret_cut) __attribute__((warn_unused_result, nonnull));

/* ---- tasks ------------------------------------------------------------------------------------ */

enum async_mode {
	ASYNC_OFF, /* the thread's own stack */
	ASYNC_TASKS, /* that of its tasks, without the loop */
	ASYNC_BOTH, /* that of its tasks, with the loop */
};

/* Loops within each other in one chain. */
#define TASK_LOOPS_MAX 8

/* The part of a chain that belongs to one loop. */
struct tasks_loop {
	__u32 first, end; /* its parts */
	__u32 outermost; /* the part of the outermost task on the stack; first: the one that the loop runs */
	__u32 coroutine; /* the item of its coroutine; if there is none, the number of items */
};

/* The asyncio tasks of a sample. */
struct tasks {
	const struct frame
		*parts; /* as in the record (bpf/python/asyncio_tasks.h), the running task first */
	__u32 cnt; /* their number */
	enum async_mode mode;
	bool late; /* no parts: the kernel may not have known the tasks yet */
	/* By tasks_find(). */
	__u32 cycle_at; /* parts from there on repeat earlier ones */
	struct tasks_loop loops[TASK_LOOPS_MAX]; /* the innermost first */
	__u32 loop_cnt;
	bool deep; /* there are more loops */
	bool eager; /* one of them was created by another one on the stack */
};

struct tasks_notes {
	bool chain; /* there are tasks */
	bool cut; /* and some may be missing at the end of the chain */
	bool late; /* there may have been some, which are not known */
};

/*
 * Puts the frames of awaiting tasks before those of the running task, and leaves out the frames of
 * the event loop. A thread's own stack is
 *   callers of the loop > asyncio.run ... Handle._run > the running task's coroutine > what that
 *   calls
 *
 * and becomes
 *   callers of the loop > [for each task, the outermost first: its suspended frames] > the
 *   coroutine > ...
 *
 * The coroutine is identified by the address of its frame, the loop's frames by their roles. What
 * the loop calls in C is left out, up to a coroutine. A task that is just being entered or left has
 * no frame on the stack: its chain goes after the loop, before what that calls in C. Without a loop
 * in sight it belongs to what is missing at the root.
 *
 * A task that starts eagerly runs on the stack of its creator (TASK_EAGER). The chain is then that
 * of the creator, or of the outermost one if they create each other, and goes before the
 * creator's coroutine; what lies between that and the new task stays as it is. If something other
 * than a task has started it, it has no chain. If the new task has not begun yet or is just being
 * left, its creator may be unknown; a mark says so.
 *
 * A task that runs another loop (TASK_WITHIN) is on the stack, too: its chain goes before its own
 * coroutine, and that of the other loop's tasks before theirs.
 *
 * Of a sample from before the kernel knew where the tasks are the stack stays the thread's own, with
 * a mark if it runs the loop.
 *
 * Must hold: a frame of the thread's own is left out only if it is the loop's; a chain that ends
 * early gets a mark.
 */
int edit_tasks(const struct items *from, const struct tasks *tasks, struct items *to,
	       struct tasks_notes *ret) __attribute__((warn_unused_result, nonnull));
/*
 * To be called before: finds the tasks in the list. Returns how many items, from the root on, need
 * their roles.
 */
__u32 tasks_find(struct tasks *tasks, const struct items *from) __attribute__((nonnull));
/* The list of a suspended task: for a record that has only its chain. */
int edit_suspended(const struct frame *parts, __u32 cnt, struct items *to)
	__attribute__((warn_unused_result, nonnull));
/* "Task-1": the name of the task at parts[at]; text: TASK_TEXT_SIZE bytes, unprintable ones too. */
#define TASK_TEXT_SIZE (TASK_NAME_PART * TASK_NAME_PARTS + 1)
void task_name(const struct frame *parts, __u32 cnt, __u32 at, char *text) __attribute__((nonnull));

/* ---- marks ------------------------------------------------------------------------------------ */

/*
 * Puts the mark for garbage collection after the frame at frame_addr, or after the last Python frame
 * if that is 0. *ret_found: it is there; otherwise to stays as it is.
 */
int edit_collecting(const struct items *from, __u64 frame_addr, struct items *to, bool *ret_found)
	__attribute__((warn_unused_result, nonnull));
/* Puts a mark before everything. */
int edit_root_mark(const struct items *from, enum item_mark mark, __u32 number, struct items *to)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_RECORD_STACK_EDITS_H */
