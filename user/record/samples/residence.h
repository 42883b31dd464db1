/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * residence.h - which stacks touched the memory that processes have now (record --memory).
 *
 * Every page fault of the chosen pages (bpf/fault.h) is noted with its stack. Each second, and at the end, a prober lists
 * which of these pages are there (process/probe/probe_pages.h): a page is charged to its last fault, one without a fault to
 * the first fault in its huge page, and the others to a mark that says why nobody is known. What is reported is the last
 * round of looks that found a process, or if all have ended by then, the larger of the last two: all of one moment.
 *
 * Must hold: what is charged adds up to the pages that the kernel lists; looks take at most a hundredth of the time, and a round 2 s and a look; a
 * program that faults faster than its budget (bpf/fault.h) makes the sample of its own pages smaller, never krait slower.
 */
#ifndef KRAIT_RECORD_SAMPLES_RESIDENCE_H
#define KRAIT_RECORD_SAMPLES_RESIDENCE_H

#include <linux/types.h>
#include <stdbool.h>

struct collector;
struct process;
struct processes;
struct record_sample;
struct residence;

struct residence_stats {
	__u64 faults; /* noted */
	__u64 dropped; /* of these, found no room: their memory has no stack */
	/* at most so much was touched in huge pages that were gone before a look */
	__u64 lonely_bytes;
	__u64 rounds; /* of looks */
	__u64 spent_ns; /* on them */
	__u64 time_ns; /* of the round that is reported, CLOCK_MONOTONIC; 0: none has found a process */
	unsigned processes; /* in that */
	unsigned failed; /* in the same round: could not be looked at */
	unsigned old; /* there was no time for: they have the rows of the round before, if any */
	unsigned cut; /* of these, more was mapped than was looked at */
	unsigned shift; /* one in 2^shift pages is followed, of the process with the fewest */
};

/* Numbers of the two events. NULL: out of memory. */
struct residence *residence__new(struct collector *collector, struct processes *processes,
				 unsigned resident, unsigned touched)
	__attribute__((warn_unused_result, nonnull));
void residence__free(struct residence *r);

/* Notes a fault; node: where it counts, 0: its stack is lost. */
void residence__fault(struct residence *r, const struct record_sample *record, __u32 node)
	__attribute__((nonnull));
/* When the next round of looks is due. */
__u64 residence__due(const struct residence *r) __attribute__((nonnull));
/* Looks at all processes. All faults so far must have been noted. */
void residence__look(struct residence *r) __attribute__((nonnull));
/* After the last round: passes what it found to the collector, as samples of that moment. */
void residence__report(struct residence *r) __attribute__((nonnull));

const struct residence_stats *residence__stats(const struct residence *r) __attribute__((nonnull));

#endif /* KRAIT_RECORD_SAMPLES_RESIDENCE_H */
