/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spans.h - what a thread did, from when to when: its samples as intervals, for formats that draw time.
 *
 * A wait lasted as long as it says. A sample of a clock stands for the time in front of it, as long as its period is,
 * but not for what a wait before it has taken: so a thread's spans follow one another, with gaps where nothing is
 * known. Samples of other events are moments.
 *
 * Must hold: spans of a thread are in order, and none overlaps another; from_ns <= to_ns.
 */
#ifndef KRAIT_EMIT_SPANS_H
#define KRAIT_EMIT_SPANS_H

#include "emit/timeline.h"
#include "profile/profile.h"

struct span {
	__u64 from_ns, to_ns;
	__u32 node;
	__u16 event;
	__u16 state; /* profile/states.h; on a CPU where a clock says no more */
	bool is_moment; /* of no length, and beside the spans */
	bool is_tick; /* of a clock; else it is a wait */
};

struct spans {
	const struct profile *profile;
	const struct timeline_thread *thread;
	size_t next; /* of its samples */
	__u64 ended_ns; /* the last one */
};

/* The thread's samples are in the order of time, of all events. */
static inline struct spans spans_of(const struct profile *p, const struct timeline_thread *t)
{
	return (struct spans){ .profile = p, .thread = t };
}

/* False at the end. */
bool spans_next(struct spans *s, struct span *ret);
/* Ticks of a clock, of one state, or a wait that goes on: does b go on where a has ended, as far as they tell? */
bool span_joins(const struct span *a, const struct span *b);

#endif /* KRAIT_EMIT_SPANS_H */
