/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * task_chains.h - turns a list of tasks (process/probe/probe_tasks.h) into chains, in the form of a
 * record's section (SECTION_TASKS): each task, its frames, those of the first task that awaits it,
 * and so on. If the list has names they are included, as the kernel does it: only ASCII, only their
 * first bytes.
 *
 * Must hold: a chain has no more parts than there is room for, and a cycle of tasks ends where it
 * closes.
 */
#ifndef KRAIT_RECORD_SAMPLES_TASK_CHAINS_H
#define KRAIT_RECORD_SAMPLES_TASK_CHAINS_H

#include <linux/types.h>

struct frame;
struct probe_tasks;
struct task_chains;

/* The list is borrowed. NULL: out of memory. */
struct task_chains *task_chains__new(const struct probe_tasks *list)
	__attribute__((warn_unused_result, nonnull));
void task_chains__free(struct task_chains *c);

/* Builds the chain of the task with that index. Returns the number of parts. */
__u32 task_chains__of(struct task_chains *c, __u32 task, struct frame *parts, __u32 room)
	__attribute__((nonnull));

#endif /* KRAIT_RECORD_SAMPLES_TASK_CHAINS_H */
