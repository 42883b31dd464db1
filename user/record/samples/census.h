/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * census.h - counts suspended asyncio tasks from time to time. The stack of each is that of the
 * tasks that await it, followed by its own. Tasks with the same stack become one sample, whose
 * weight is their number.
 *
 * A prober lists them (process/probe/probe_tasks.h), and the process is not stopped, so changes during the
 * read are taken as found. A task that several others await appears below the first of them, with a
 * mark.
 *
 * Must hold: censuses take at most a twentieth of the time, however many tasks there are; with more
 * tasks they become rarer.
 */
#ifndef KRAIT_RECORD_SAMPLES_CENSUS_H
#define KRAIT_RECORD_SAMPLES_CENSUS_H

#include <linux/types.h>
#include <stdbool.h>

struct census;
struct collector;
struct processes;

struct census_stats {
	__u64 cnt; /* processes with asyncio, summed over all censuses */
	__u64 tasks; /* tasks in all of them */
	__u64 samples; /* samples that these tasks became */
	__u64 cut; /* lists that may be incomplete: tasks kept changing, or were too many */
	__u64 failed; /* processes whose memory could not be read */
	__u64 spent_ns;
};

/*
 * All are borrowed. event: that the samples belong to; period_ns: between two censuses; names: put
 * the tasks' names in their stacks. NULL: out of memory.
 */
struct census *census__new(struct collector *collector, struct processes *processes, unsigned event,
			   __u64 period_ns, bool names)
	__attribute__((warn_unused_result, nonnull));
void census__free(struct census *c);

/* Takes a census if it is time. Returns when the next one is due. */
__u64 census__step(struct census *c, __u64 now_ns) __attribute__((nonnull));

const struct census_stats *census__stats(const struct census *c) __attribute__((nonnull));

#endif /* KRAIT_RECORD_SAMPLES_CENSUS_H */
