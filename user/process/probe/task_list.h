/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * task_list.h - a list of tasks or greenlets (probe_tasks.h) while a prober builds it.
 *
 * Must hold: each is in the list once; nothing is written beyond an array, and if room or time runs
 * out the list says so (PROBE_TASKS_CUT).
 */
#ifndef KRAIT_PROCESS_PROBE_TASK_LIST_H
#define KRAIT_PROCESS_PROBE_TASK_LIST_H

#include <linux/types.h>
#include <stdbool.h>

#include "process/probe/probe_tasks.h"

/* Size of the hash of listed addresses: twice as many places as tasks. */
#define TASK_LIST_SEEN_BITS 17

struct task_list {
	struct probe_tasks_head head;
	__u64 seen[1 << TASK_LIST_SEEN_BITS]; /* hashed addresses of the listed tasks */
	__u32 seen_at[1 << TASK_LIST_SEEN_BITS]; /* their indexes in tasks */
	struct probe_task tasks[PROBE_TASKS_MAX];
	struct frame frames[PROBE_TASKS_FRAMES_MAX];
	__u64 waiters[PROBE_TASKS_WAITERS_MAX];
	char texts[PROBE_TASKS_TEXT_MAX];
};

/* Begins *l, which must be zeroed. */
void task_list_begin(struct task_list *l) __attribute__((nonnull));
/* Is there no more time? */
bool task_list_is_late(struct task_list *l) __attribute__((nonnull));
/* Is there no more room? Then the list says so, too. */
bool task_list_is_full(struct task_list *l) __attribute__((nonnull));

/* Adds one, without frames and waiters. NULL: already listed, or no room. */
struct probe_task *task_list_add(struct task_list *l, __u64 addr, __u64 thread_id, __u32 flags)
	__attribute__((warn_unused_result, nonnull));
/* Its index in tasks; PROBE_TASKS_MAX: not listed. */
__u32 task_list_find(const struct task_list *l, __u64 addr) __attribute__((nonnull));
/* For the last one added. */
void task_list_set_name(struct task_list *l, struct probe_task *t, const char *name)
	__attribute__((nonnull));
void task_list_set_frames(struct task_list *l, struct probe_task *t, const struct frame *frames,
			  __u32 cnt) __attribute__((nonnull(1, 2)));
/* Adds one that awaits it, by address. False: no room. */
bool task_list_add_waiter(struct task_list *l, struct probe_task *t, __u64 addr)
	__attribute__((nonnull));

/* Returns a descriptor of the list, or -errno. */
int task_list_write(const struct task_list *l) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PROCESS_PROBE_TASK_LIST_H */
