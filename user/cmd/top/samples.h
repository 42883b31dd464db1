/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * samples.h - what krait top has seen: the samples of the last rounds one by one, and everything
 * since its start as a profile beside the session's.
 *
 * A round is the time between two refreshes of the screen. "Now" is the last one; the history is
 * all kept rounds. During a pause both stay unchanged, and new samples are counted separately.
 *
 * Must hold: each sample counts once since the start, when its round ends, even if its round is
 * dropped. Memory is bounded, however long it runs (trim.h).
 */
#ifndef KRAIT_CMD_TOP_SAMPLES_H
#define KRAIT_CMD_TOP_SAMPLES_H

#include <linux/types.h>
#include <stdbool.h>

#include "profile/profile.h"
#include "profile/sample_store.h"
#include "profile/states.h"

/* Rounds that we keep: the columns of a history. */
#define ROUNDS_MAX 30
/* Samples in all rounds; the oldest rounds are dropped first. */
#define ROUND_SAMPLES_MAX (1U << 18)

/* What a thread did: each nanosecond belongs to one of them. */
enum measure {
	MEASURE_CPU,
	MEASURE_GIL, /* waits for the GIL */
	MEASURE_WAIT, /* waits for anything else */
	MEASURE_READY, /* runnable, but no CPU was free */
	MEASURE_CNT
};

struct round {
	__u64 number; /* from 1 */
	__u64 from_ns, to_ns;
	struct sample_store samples; /* those without room are counted only since the start */
};

struct samples;

/*
 * Uses the dictionary of a session's profile, which must outlive it, and its events. Returns NULL
 * if out of memory.
 */
struct samples *samples__new(const struct profile *session, __u64 now_ns);
void samples__free(struct samples *s);

/* Adds a sample as it comes. */
void samples__add(struct samples *s, const struct profile_sample *sample);
/* Ends a round and begins the next. Returns false during a pause, with nothing changed. */
bool samples__end_round(struct samples *s, __u64 now_ns);

/* Age 0 is the last finished round; NULL: no more. */
const struct round *samples__round(const struct samples *s, unsigned age);
/* Returns the round in progress. */
const struct round *samples__open(const struct samples *s);
/*
 * Returns everything since the start from finished rounds, without the samples of a pause in
 * progress.
 */
struct profile *samples__all(const struct samples *s);
/* Returns the time that this covers. */
__u64 samples__all_ns(const struct samples *s);
/* Restarts counting "since the start". */
void samples__reset(struct samples *s, __u64 now_ns);
void samples__pause(struct samples *s, bool paused, __u64 now_ns);
bool samples__is_paused(const struct samples *s);
/* Returns the profiles with all counts; the second has what came in a pause. */
void samples__profiles(const struct samples *s, struct profile *ret[2]);

enum measure measure_of(__u32 event, enum state state);

/* Receives a part of a sample's time: ns in round number; 0: time outside the kept rounds. */
typedef void (*sample_part_fn)(void *ctx, __u64 number, __u64 ns);
/*
 * Splits a sample: a wait may have begun rounds ago; time on the CPU belongs to the round in which
 * it was sampled.
 */
void samples__split(const struct samples *s, unsigned age, const struct stored_sample *sample,
		    sample_part_fn fn, void *ctx);

/* Receives the count of one node in one state. */
typedef void (*sample_count_fn)(void *ctx, __u32 node, __u32 event, enum state state, __u64 samples,
				__u64 weight);
/* Visits everything since the start. Returns 0 or -ENOMEM. */
int samples__each(const struct samples *s, sample_count_fn fn, void *ctx)
	__attribute__((warn_unused_result));

#endif /* KRAIT_CMD_TOP_SAMPLES_H */
