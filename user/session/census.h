/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * census.h - asyncio tasks that are suspended, counted now and then: of each the stack is that of the tasks that await it,
 * and its own. Tasks with the same one are one sample, whose weight is how many they are.
 *
 * A prober lists them (target/probe_tasks.h), and the process is not stopped: what changed while it was read is taken
 * as it was found. A task that several others await stands below the first of them, with a mark that says so.
 *
 * Must hold: a census takes at most a twentieth of the time, however many tasks there are: then they become rarer.
 */
#ifndef KRAIT_SESSION_CENSUS_H
#define KRAIT_SESSION_CENSUS_H

#include <linux/types.h>
#include <stdbool.h>

struct census;
struct collector;
struct processes;

struct census_stats {
	__u64 cnt; /* of processes with asyncio, each time */
	__u64 tasks; /* in all of them */
	__u64 samples; /* that they have become */
	__u64 cut; /* in which tasks may be missing: they changed all the time, or were too many */
	__u64 failed; /* the process's memory could not be read */
	__u64 spent_ns;
};

/* All is borrowed. event: of the samples; period_ns: between two; names: of tasks, in their stacks. NULL: out of memory. */
struct census *census__new(struct collector *collector, struct processes *processes, unsigned event,
			   __u64 period_ns, bool names)
	__attribute__((warn_unused_result, nonnull));
void census__free(struct census *c);

/* Takes one if it is time. When the next one is. */
__u64 census__step(struct census *c, __u64 now_ns) __attribute__((nonnull));

const struct census_stats *census__stats(const struct census *c) __attribute__((nonnull));

#endif /* KRAIT_SESSION_CENSUS_H */
