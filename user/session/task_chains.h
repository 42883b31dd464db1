/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * task_chains.h - of a list of tasks (target/probe_tasks.h) the chain of each as the section of a record has it
 * (SECTION_TASKS): the task, its frames, and those of the first task that awaits it, and so on. Names come with them
 * where the list has any, as the kernel takes them: of ASCII, their first bytes.
 *
 * Must hold: at most as many parts as there is room for, and a circle of tasks ends where it closes.
 */
#ifndef KRAIT_SESSION_TASK_CHAINS_H
#define KRAIT_SESSION_TASK_CHAINS_H

#include <linux/types.h>

struct frame;
struct probe_tasks;
struct task_chains;

/* The list is borrowed. NULL: out of memory. */
struct task_chains *task_chains__new(const struct probe_tasks *list)
	__attribute__((warn_unused_result, nonnull));
void task_chains__free(struct task_chains *c);

/* The chain of the task with that index. How many parts it has. */
__u32 task_chains__of(struct task_chains *c, __u32 task, struct frame *parts, __u32 room)
	__attribute__((nonnull));

#endif /* KRAIT_SESSION_TASK_CHAINS_H */
