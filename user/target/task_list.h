/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * task_list.h - a list of tasks or greenlets (probe_tasks.h) under way, in a prober.
 *
 * Must hold: each is in the list once; nothing is written behind the end of an array, and what there is no room or no
 * time for is said (PROBE_TASKS_CUT).
 */
#ifndef KRAIT_TARGET_TASK_LIST_H
#define KRAIT_TARGET_TASK_LIST_H

#include <linux/types.h>
#include <stdbool.h>

#include "target/probe_tasks.h"

/* What stands for "seen": twice as many places as tasks. */
#define TASK_LIST_SEEN_BITS 17

struct task_list {
	struct probe_tasks_head head;
	__u64 seen[1 << TASK_LIST_SEEN_BITS]; /* addresses of those that are listed, hashed */
	__u32 seen_at[1 << TASK_LIST_SEEN_BITS]; /* in tasks */
	struct probe_task tasks[PROBE_TASKS_MAX];
	struct frame frames[PROBE_TASKS_FRAMES_MAX];
	__u64 waiters[PROBE_TASKS_WAITERS_MAX];
	char texts[PROBE_TASKS_TEXT_MAX];
};

/* *l is zeroed: now it is begun. */
void task_list_begin(struct task_list *l) __attribute__((nonnull));
/* There is no time for more. */
bool task_list_is_late(struct task_list *l) __attribute__((nonnull));
/* There is no room for more: said, too. */
bool task_list_is_full(struct task_list *l) __attribute__((nonnull));

/* One more, without frames and waiters. NULL: it is there already, or there is no room. */
struct probe_task *task_list_add(struct task_list *l, __u64 addr, __u64 thread_id, __u32 flags)
	__attribute__((warn_unused_result, nonnull));
/* In tasks; PROBE_TASKS_MAX: it is not there. */
__u32 task_list_find(const struct task_list *l, __u64 addr) __attribute__((nonnull));
/* Of the one that was added last. */
void task_list_set_name(struct task_list *l, struct probe_task *t, const char *name)
	__attribute__((nonnull));
void task_list_set_frames(struct task_list *l, struct probe_task *t, const struct frame *frames,
			  __u32 cnt) __attribute__((nonnull(1, 2)));
/* One that awaits it, by address. False: there is no room for it. */
bool task_list_add_waiter(struct task_list *l, struct probe_task *t, __u64 addr)
	__attribute__((nonnull));

/* A descriptor of the list, or -errno. */
int task_list_write(const struct task_list *l) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_TARGET_TASK_LIST_H */
