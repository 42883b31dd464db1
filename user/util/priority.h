/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * priority.h - krait before all that it measures: where every CPU has a queue, a recorder that stands
 * in it misses what it is there for.
 *
 * Must hold: what krait starts runs as it would have without this.
 */
#ifndef KRAIT_UTIL_PRIORITY_H
#define KRAIT_UTIL_PRIORITY_H

#include <sched.h>
#include <stdbool.h>

struct priority {
	bool raised;
	int policy; /* before */
	struct sched_param param;
};

/*
 * SCHED_RR at the lowest real-time priority, as perf record -r has it, for this thread and those that it
 * starts; *ret says what it had. The kernel leaves 5 % of each second to others whatever happens
 * (kernel.sched_rt_runtime_us). 0, or -errno where that is not permitted, and then nothing has changed.
 */
int priority_raise(struct priority *ret);
/* Back to that. Nothing where nothing was raised. Safe between fork and exec. */
void priority_restore(const struct priority *p);
/*
 * A single-threaded process that runs as SCHED_RR keeps that priority until it has worked for usec microseconds
 * without a pause, and has ordinary priority from then on; 0: from now on. Uses SIGXCPU.
 */
void priority_bound(unsigned usec);

#endif /* KRAIT_UTIL_PRIORITY_H */
