/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tables.h - keeps what a process publishes besides its runtime (python/layout/published.h) up to date:
 * searches when the process is tracked, and again when it has mapped code, until everything is
 * found.
 */
#ifndef KRAIT_RECORD_FOLLOW_TABLES_H
#define KRAIT_RECORD_FOLLOW_TABLES_H

#include <linux/types.h>
#include <stdbool.h>

#include "record/follow/look_plan.h"
#include "python/layout/published.h"

struct entry;
struct process;
struct processes;

/* What a process has, and when to look again. All zero initially. */
struct tables {
	struct published found;
	struct look_plan look;
	/* CLOCK_MONOTONIC: since when the kernel follows its tasks; 0: it does not */
	__u64 tasks_ns;
};

/* The process is tracked now. parent: for a fork, the process whose memory it has; else NULL. */
void tables_begin(struct processes *ps, struct process *p, const struct process *parent);
/* The look that look_plan_is_due() says is due. */
void tables_look(struct processes *ps, struct process *p);
/*
 * May the process have had asyncio tasks at that time (CLOCK_MONOTONIC) that the kernel did not
 * follow yet? It has mapped code since it was looked at, or was later found to have some.
 */
bool tables_tasks_are_late(const struct process *p, __u64 time_ns);
/* The process has another image, or has gone: forgets everything. */
void tables_forget(struct processes *ps, struct process *p);

#endif /* KRAIT_RECORD_FOLLOW_TABLES_H */
