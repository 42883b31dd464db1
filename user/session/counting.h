/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counting.h - what a sample counts for, once its stack has a node: how long, in which state, and as one sample or, if
 * a thread waited and was then ready to run, as two.
 *
 * Must hold: what nobody wants is not counted, and a record that becomes two samples has two in the accounts.
 */
#ifndef KRAIT_SESSION_COUNTING_H
#define KRAIT_SESSION_COUNTING_H

#include <linux/types.h>
#include <stdbool.h>

#include "abi.h"

struct collector_config;
struct profile;
struct record_sample;
struct thread;

struct counting {
	const struct collector_config *config; /* borrowed */
	struct profile *profile; /* borrowed */
	__u64 first_sample_ns; /* CLOCK_MONOTONIC; 0 none yet */
	__u64 waits_lost_ns; /* off the CPU, by records without a stack */
	__u64 unsampled_lost_ns; /* on the CPU, found by no tick, and no room for it */
	__u64 parts[KRAIT_MAX_EVENTS]; /* samples that records have beyond one each */
};

/*
 * Counts the record at that node, in the profile and with whoever gets each sample. collects: its thread collects
 * garbage. How many samples it has become; 0: nobody wants any of it.
 */
unsigned counting_put(struct counting *c, struct thread *t, const struct record_sample *record,
		      __u32 node, bool collects) __attribute__((warn_unused_result, nonnull));

/* It has no stack, for that reason. Its own event's accounts are the caller's; how long it waited, and ticks that it stands for, are here. */
void counting_lost(struct counting *c, const struct record_sample *record, enum reason reason)
	__attribute__((nonnull));

/* CPU time of its thread that no tick found and that came with the record; 0: none. */
__u64 counting_unsampled_ns(const struct record_sample *record) __attribute__((nonnull));
/* Counts that under the thread's node. Without one, when t may be NULL, it is a sample of the clock that is lost: no room. */
void counting_put_unsampled(struct counting *c, const struct thread *t,
			    const struct record_sample *record, __u32 thread_node)
	__attribute__((nonnull(1, 3)));

#endif /* KRAIT_SESSION_COUNTING_H */
