/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counting.h - how a sample counts once its stack has a node: how much time, in which state, and as
 * one sample or two, if a thread waited and was then runnable.
 *
 * Must hold: unwanted samples are not counted, and a record that becomes two samples counts as two
 * in the accounts.
 */
#ifndef KRAIT_RECORD_SAMPLES_COUNTING_H
#define KRAIT_RECORD_SAMPLES_COUNTING_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"

struct collector_config;
struct profile;
struct profile_sample;
struct record_sample;
struct thread;

struct counting {
	const struct collector_config *config; /* borrowed */
	struct profile *profile; /* borrowed */
	int clock; /* number of the event that turns every tick into a sample; -1: none does */
	int touched; /* number of the event whose periods are faults (bpf/fault.h); -1: none */
	__u64 page_bytes;
	__u64 clock_period_ns; /* 0: there is none */
	__u64 first_sample_ns; /* CLOCK_MONOTONIC; 0: none yet */
	__u64 waits_lost_ns; /* time off the CPU in records without a stack */
	__u64 unsampled_lost_ns; /* CPU time that no tick found and that there was no room for */
	__u64 parts[KRAIT_MAX_EVENTS]; /* samples beyond one per record */
};

/* Nothing is counted yet. Borrows both. */
struct counting counting_of(const struct collector_config *config, struct profile *profile)
	__attribute__((nonnull(1)));

/*
 * Counts the record at that node, in the profile and with everyone who receives samples. collects:
 * its thread is collecting garbage. Returns the number of samples; 0: none is wanted.
 */
unsigned counting_put(struct counting *c, struct thread *t, const struct record_sample *record,
		      __u32 node, bool collects) __attribute__((warn_unused_result, nonnull));

/* Counts a sample that comes from no record. */
void counting_put_made(struct counting *c, const struct profile_sample *sample)
	__attribute__((nonnull));

/*
 * Counts a record without a stack. The caller keeps the accounts of its own event; this counts how
 * long the thread waited, and the ticks that the record stands for.
 */
void counting_lost(struct counting *c, const struct record_sample *record, enum reason reason)
	__attribute__((nonnull));

/* CPU time of the record's thread that no tick found; 0: none. */
__u64 counting_unsampled_ns(const struct record_sample *record) __attribute__((nonnull));
/*
 * Counts that time under the thread's node. Without a node (t may then be NULL) it becomes a lost
 * sample of the clock: no room.
 */
void counting_put_unsampled(struct counting *c, const struct thread *t,
			    const struct record_sample *record, __u32 thread_node)
	__attribute__((nonnull(1, 3)));

/*
 * Counts that many samples of the clock (head.event), for CPU time of the thread that no tick found.
 * thread_node 0: there is no room, and they are lost.
 */
void counting_put_not_sampled(struct counting *c, const struct thread *t,
			      const struct record_sample *head, __u32 thread_node, __u64 cnt)
	__attribute__((nonnull));

#endif /* KRAIT_RECORD_SAMPLES_COUNTING_H */
