/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_mappings.h - what perf reports as mapped (kernel/sampler/mmap_events.h), if the sampler does not
 * report mappings: when to look at it, and who has to know.
 *
 * perf reports the mappings of every process of the machine, and those of foreign ones should not
 * wake us all the time. Only the unwinder is in a hurry: for the rest it is enough that mappings are
 * known before the samples that come after them.
 */
#ifndef KRAIT_RECORD_RUN_PERF_MAPPINGS_H
#define KRAIT_RECORD_RUN_PERF_MAPPINGS_H

#include <linux/types.h>

struct perf_mappings;
struct processes;
struct unwinding;

/*
 * Tells the processes that perf will report their mappings. Both are borrowed; unwinding is NULL
 * without native stacks. NULL: perf reports none either, or out of memory.
 */
struct perf_mappings *perf_mappings__new(struct processes *processes, struct unwinding *unwinding);
void perf_mappings__free(struct perf_mappings *m);

/*
 * The descriptor to wait for, if somebody is in a hurry; else -1. During a pause it is -1, too, and
 * *until_ns becomes the pause's end if that is earlier.
 */
int perf_mappings__fd(const struct perf_mappings *m, __u64 now_ns, __u64 *until_ns);
/* Takes in what has been reported, and decides on the next pause. */
void perf_mappings__take(struct perf_mappings *m);
/* Call after records were taken in: ends the pause if a new process is tracked, which maps libraries. */
void perf_mappings__note_begins(struct perf_mappings *m, __u64 now_ns);
/* CPUs may have come or gone. */
void perf_mappings__follow_cpus(struct perf_mappings *m);
/* Mappings of our processes so far, if somebody unwinds. */
__u64 perf_mappings__cnt(const struct perf_mappings *m);

#endif /* KRAIT_RECORD_RUN_PERF_MAPPINGS_H */
