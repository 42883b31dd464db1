/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * samples.h - what krait top has seen: the samples of the last rounds one by one, and what was counted
 * since its start, a profile beside the session's.
 *
 * A round is the time between two refreshes of the screen. "Now" is the last one, the history all that are
 * kept. While it is paused, both stay as they are, and what comes is counted apart.
 *
 * Must hold: each sample is counted once since the start, whatever is dropped of the rounds, when its round
 * is over; memory is bounded, however long it goes on (trim.h).
 */
#ifndef KRAIT_TOP_SAMPLES_H
#define KRAIT_TOP_SAMPLES_H

#include <linux/types.h>
#include <stdbool.h>

#include "profile/profile.h"
#include "profile/states.h"

/* Rounds that are kept: the columns of a history. */
#define ROUNDS_MAX 30
/* Samples in all of them, 48 bytes each; the oldest rounds go first. */
#define ROUND_SAMPLES_MAX (1U << 18)

/* What a thread did with its time: each nanosecond is in one of them. */
enum measure {
	MEASURE_CPU,
	MEASURE_GIL, /* waits for it */
	MEASURE_WAIT, /* for anything else */
	MEASURE_READY, /* could run, and others do */
	MEASURE_CNT
};

struct top_sample {
	__u64 time_ns, weight; /* a wait has its end, and ns */
	__u32 node, event, state; /* enum state */
	__u32 cpu, thread, image;
	int pid, tid;
};

struct round {
	__u64 number; /* from 1 */
	__u64 from_ns, to_ns;
	__u64 dropped; /* samples that it had no room for: counted since the start only */
	struct top_sample *list;
	__u32 cnt, cap;
};

struct samples;

/* Over the dictionary of a session's profile, which outlives them, with its events. NULL: no memory. */
struct samples *samples__new(const struct profile *session, __u64 now_ns);
void samples__free(struct samples *s);

/* As they come. */
void samples__add(struct samples *s, const struct profile_sample *sample);
/* The round is over, and the next one begins. False where it was paused, and nothing changed. */
bool samples__end_round(struct samples *s, __u64 now_ns);

/* The last round that ended has age 0; NULL when there are no more. */
const struct round *samples__round(const struct samples *s, unsigned age);
/* The one that is not over. */
const struct round *samples__open(const struct samples *s);
/* All since the start, in rounds that are over; what came in a pause that lasts is not among it. */
struct profile *samples__all(const struct samples *s);
/* For how long that was counted. */
__u64 samples__all_ns(const struct samples *s);
/* Begins anew to count since the start. */
void samples__reset(struct samples *s, __u64 now_ns);
void samples__pause(struct samples *s, bool paused, __u64 now_ns);
bool samples__is_paused(const struct samples *s);
/* The profiles that hold what was counted: two, of which the second has what came in a pause. */
void samples__profiles(const struct samples *s, struct profile *ret[2]);

enum measure measure_of(__u32 event, enum state state);

/* A part of a sample's time: of round number so much; 0: of a time of which there is no round. */
typedef void (*sample_part_fn)(void *ctx, __u64 number, __u64 ns);
/* A wait may have begun rounds ago; time on a CPU is of the round in which it was sampled. */
void samples__split(const struct samples *s, unsigned age, const struct top_sample *sample,
		    sample_part_fn fn, void *ctx);

/* What was counted at one node in one state. */
typedef void (*sample_count_fn)(void *ctx, __u32 node, __u32 event, enum state state, __u64 samples,
				__u64 weight);
/* All since the start. 0 or -ENOMEM. */
int samples__each(const struct samples *s, sample_count_fn fn, void *ctx)
	__attribute__((warn_unused_result));

#endif /* KRAIT_TOP_SAMPLES_H */
