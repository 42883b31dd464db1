/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spans.h - what a thread did from when to when: its samples as intervals, for formats that draw
 * time.
 *
 * A wait has its recorded length. A clock sample stands for the time before it, up to its period,
 * but never for time that an earlier wait covers. So a thread's spans follow one another, with gaps
 * where nothing is known. Samples of other events are moments.
 *
 * Must hold: a thread's spans are sorted and never overlap; from_ns <= to_ns.
 */
#ifndef KRAIT_OUTPUT_SPANS_H
#define KRAIT_OUTPUT_SPANS_H

#include "output/timeline.h"
#include "profile/profile.h"

struct span {
	__u64 from_ns, to_ns;
	__u32 node;
	/* a tick: how far behind the one before it can be while the thread ran on */
	__u64 gap_ns;
	__u16 event;
	__u16 state; /* profile/states.h; "on CPU" if a clock says no more */
	bool is_moment; /* without length, and outside the sequence of spans */
	bool is_tick; /* of a clock; otherwise a wait */
};

struct spans {
	const struct profile *profile;
	const struct timeline_thread *thread;
	size_t next; /* next sample */
	__u64 ended_ns; /* end of the last span */
};

/* The thread's samples of all events must be sorted by time. */
static inline struct spans spans_of(const struct profile *p, const struct timeline_thread *t)
{
	return (struct spans){ .profile = p, .thread = t };
}

/* Returns false at the end. */
bool spans_next(struct spans *s, struct span *ret);
/* Tells whether b continues a: ticks of one clock in one state, or one wait. */
bool span_joins(const struct span *a, const struct span *b);

#endif /* KRAIT_OUTPUT_SPANS_H */
