/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tables.h - keeps what a process publishes beside its runtime (target/published.h) up to date: looked for
 * when the process is tracked, and again when it has mapped code, until all is found.
 */
#ifndef KRAIT_FOLLOW_TABLES_H
#define KRAIT_FOLLOW_TABLES_H

#include <linux/types.h>
#include <stdbool.h>

#include "follow/look_plan.h"
#include "target/published.h"

struct entry;
struct process;
struct processes;

/* What a process has, and when it is looked at again. All zero at first. */
struct tables {
	struct published found;
	struct look_plan look;
	__u64 tasks_ns; /* CLOCK_MONOTONIC: since then the kernel follows its tasks; 0 it does not */
};

/* The process is tracked. parent: of a forked one, whose memory it has, or NULL. */
void tables_begin(struct processes *ps, struct process *p, const struct process *parent);
/* It has mapped code. */
void tables_mapped(struct processes *ps, struct process *p);
/* Looks if it is time; when it will be, 0 never. */
__u64 tables_step(struct processes *ps, struct process *p, __u64 now_ns);
/*
 * Whether the process may have had asyncio tasks at that time (CLOCK_MONOTONIC) that the kernel did not follow yet: it
 * has mapped code since it was looked at, or was found to have some later.
 */
bool tables_tasks_are_late(const struct process *p, __u64 time_ns);
/* Another image, or none: nothing is known. */
void tables_forget(struct processes *ps, struct process *p);

#endif /* KRAIT_FOLLOW_TABLES_H */
