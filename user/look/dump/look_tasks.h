/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look_tasks.h - the asyncio tasks of a process as they are right now, with names, and who awaits
 * whom; or its greenlets, each of which is awaited by its parent.
 *
 * Must hold: every index of a task refers to this list; awaiters that are not in the list are only
 * counted.
 */
#ifndef KRAIT_LOOK_DUMP_LOOK_TASKS_H
#define KRAIT_LOOK_DUMP_LOOK_TASKS_H

#include <linux/types.h>
#include <stdbool.h>

struct look_frame;
struct look_process;

enum look_tasks_kind { LOOK_ASYNCIO, LOOK_GREENLETS };

struct look_task {
	const char *name; /* UTF-8; NULL: unreadable */
	__u64 addr;
	__u64 thread_id; /* in the process's own namespace; 0: its thread has ended */
	bool runs;
	bool is_new; /* a greenlet that has not begun */
	__u32 notes; /* enum task_note */
	__u32 first_frame, frame_cnt; /* in frames, outermost first */
	__u32 first_awaited, awaited_cnt; /* in awaited: the tasks that it awaits */
	__u32 waiter_cnt, unknown_waiters; /* tasks of the list that await it; other ones */
	__u64 since_ns; /* it has been at this place at least since then, CLOCK_MONOTONIC */
};

struct look_tasks {
	enum look_tasks_kind kind;
	/*
	 * 0; -ENOTSUP: Python is too old; -ENOENT: it has no asyncio, or no greenlet;
	 * -EPROTONOSUPPORT, -EXFULL: as probe_greenlets_list(); or why it could not be read
	 */
	int result;
	bool changed, cut; /* as PROBE_TASKS_CHANGED, PROBE_TASKS_CUT */
	__u64 time_ns;
	struct look_task *tasks;
	struct look_frame *frames;
	__u32 *awaited;
	__u32 task_cnt, frame_cnt, awaited_cnt;
};

/*
 * Between look__take() and look__let_go(). Texts are among the process's. NULL: out of memory.
 * before: of an earlier look, or NULL.
 */
struct look_tasks *look_tasks__take(struct look_process *p, enum look_tasks_kind kind,
				    const struct look_tasks *before)
	__attribute__((warn_unused_result));
void look_tasks__free(struct look_tasks *t);

#endif /* KRAIT_LOOK_DUMP_LOOK_TASKS_H */
