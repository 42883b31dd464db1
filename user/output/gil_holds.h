/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gil_holds.h - where samples have seen an interpreter's lock held, and whose it was around them.
 *
 * A sample of the clock says of a moment whether the thread held the lock, one off the CPU of a whole
 * wait: a thread that leaves with the lock comes back with it. Nothing says what happened between two
 * samples: a thread can lose the lock and get it back in microseconds, in waits too short to be
 * recorded. So there are no turns, only sightings, and each extends to where the lock was seen next: at
 * most over `reach`, and never into what the thread's own samples say of the time without the lock.
 *
 * Must hold: at any time at most one thread holds the lock (gil_share_next()).
 */
#ifndef KRAIT_OUTPUT_GIL_HOLDS_H
#define KRAIT_OUTPUT_GIL_HOLDS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* A sample of a thread whose interpreter's lock is known. */
struct gil_sample {
	__u64 from_ns, to_ns; /* equal for a clock sample */
	__u64 period_ns; /* off the CPU above to - from: it also stands for other waits */
	double ns; /* what it stands for, once that fits into the recording (gil_waits.h) */
	__u32 node, state;
	int pid, tid;
	int holder; /* of a wait for the lock: see profile_sample */
	bool off; /* off the CPU */
};

/* The lock was seen held from from_ns to to_ns, and the thread cannot have held it beyond the bounds. */
struct gil_hold {
	__u64 from_ns, to_ns;
	__u64 least_ns, most_ns;
	__u32 node;
	int tid;
};

struct gil_holds {
	struct gil_hold *list;
	__u64 *ends; /* by hold: the latest to_ns of it and all before it */
	size_t cnt, cap;
	__u64 reach_ns;
};

/* Appends what was seen of one thread: its samples of one lock, sorted by to_ns. Returns 0 or -ENOMEM. */
int gil_holds_add(struct gil_holds *h, const struct gil_sample *samples, size_t cnt)
	__attribute__((warn_unused_result));
/* After the last thread. reach_ns: how long a sighting lasts without another. Returns 0 or -ENOMEM. */
int gil_holds_sort(struct gil_holds *h, __u64 reach_ns) __attribute__((warn_unused_result));
void gil_holds_free(struct gil_holds *h);

/* Walks through the holds that others had within a wait. */
struct gil_share {
	const struct gil_holds *holds;
	const struct gil_hold *before; /* the last one met; NULL: none */
	__u64 from_ns, to_ns; /* the wait; from_ns: what is left of it */
	size_t at, end;
	int tid; /* of the waiting thread */
};

void gil_share_begin(struct gil_share *s, const struct gil_holds *h, const struct gil_sample *wait);
/*
 * Returns the next hold within the wait and sets *ret_ns to how long it lasted there (above 0); NULL:
 * no more. Their sum is at most the wait's length.
 */
const struct gil_hold *gil_share_next(struct gil_share *s, __u64 *ret_ns);

#endif /* KRAIT_OUTPUT_GIL_HOLDS_H */
