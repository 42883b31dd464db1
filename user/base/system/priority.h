/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * priority.h - gives krait priority over what it measures: on a machine with busy CPUs a recorder
 * that has to queue loses samples.
 *
 * Must hold: what krait starts runs as it would have without this.
 */
#ifndef KRAIT_BASE_SYSTEM_PRIORITY_H
#define KRAIT_BASE_SYSTEM_PRIORITY_H

#include <sched.h>
#include <stdbool.h>

struct priority {
	bool raised;
	int policy; /* the original one */
	struct sched_param param;
};

/*
 * Gives this thread, and those that it starts, SCHED_RR at the lowest real-time priority, as perf
 * record -r does; *ret gets the original settings. The kernel leaves 5 % of each second to others
 * in any case (kernel.sched_rt_runtime_us). Returns 0, or -errno without permission: then nothing
 * has changed.
 */
int priority_raise(struct priority *ret);
/* Restores the original settings; does nothing if nothing was raised. Safe between fork and exec. */
void priority_restore(const struct priority *p);
/*
 * Limits a single-threaded SCHED_RR process: once it has run for usec microseconds without a pause,
 * it drops to ordinary priority for good; 0: at once. Uses SIGXCPU.
 */
void priority_bound(unsigned usec);

#endif /* KRAIT_BASE_SYSTEM_PRIORITY_H */
