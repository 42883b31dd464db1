/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * anchoring.h - which threads get anchors: samples in, writes out.
 *
 * Decisions are made while records are read, writes in one batch after that. A thread that refuses
 * (no permission, gone) is left alone; where somebody else writes the same slot, krait empties it,
 * watches for a while that it stays empty, and only then goes on, with growing pauses.
 *
 * Must hold: nothing is written to a thread younger than a second; what krait wrote is cleared at the
 * end.
 */
#ifndef KRAIT_SESSION_ANCHORING_H
#define KRAIT_SESSION_ANCHORING_H

#include <linux/types.h>
#include <sys/types.h>

#include "abi.h"

struct anchoring;
struct process;
struct sampler;
struct stack;

enum anchor_mode {
	ANCHOR_MODE_AUTO, /* where it pays */
	ANCHOR_MODE_ON, /* wherever the interpreter can */
	ANCHOR_MODE_OFF,
};

struct anchoring_stats {
	__u64 writes, refused;
	__u64 slid, foreign; /* anchors that ended, and why */
	__u64 threads; /* known now */
};

/* NULL and errno on failure. */
struct anchoring *anchoring__new(enum anchor_mode mode, struct sampler *sampler);
void anchoring__free(struct anchoring *a);

/* Takes in a sample that was merged into *stack. */
void anchoring__sample(struct anchoring *a, const struct process *process,
		       const struct event_sample *event, const struct stack *stack);
/* The base of the thread's deltas is lost: no more of them until there is a new one. */
void anchoring__reset(struct anchoring *a, const struct event_sample *event);
/* Writes what was decided on. Call it when all records are read. */
void anchoring__flush(struct anchoring *a);

void anchoring__thread_gone(struct anchoring *a, pid_t tid);
void anchoring__process_gone(struct anchoring *a, pid_t pid);
/* Clears what krait wrote, in threads that live on. */
void anchoring__detach(struct anchoring *a);

const struct anchoring_stats *anchoring__stats(const struct anchoring *a);

#endif /* KRAIT_SESSION_ANCHORING_H */
