/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile.h - what was measured: a dictionary of stacks (profile/dict.h), and what was counted of each
 * event over it (profile/counts.h).
 *
 * Must hold: what an output shows of one event is that of the event it was given; events are never
 * added up.
 */
#ifndef KRAIT_PROFILE_PROFILE_H
#define KRAIT_PROFILE_PROFILE_H

#include <linux/types.h>

#include "profile/counts.h"
#include "profile/dict.h"
#include "util/event.h"

struct space;

struct profile {
	struct dict *dict;
	struct counts **events; /* by number of the event */
	unsigned event_cnt, event_cap; /* cnt: at least 1 */
	bool borrowed; /* the dictionary is another profile's */
};

/* What perf allows in one file. */
#define PROFILE_MAX_EVENTS 128

/* One sample in time order, as emitters that stream want it. */
struct profile_sample {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 period; /* ns for cpu-clock */
	__u32 node;
	__u32 state; /* profile/states.h, with its flags; 0 not known */
	__u32 cpu;
	int pid, tid; /* host */
	const char *comm; /* of the thread, UTF-8 and printable */
	unsigned event; /* index of the profile's event */
	const struct space *space; /* of the process (proc/space.h); NULL none */
	/* Numbers that no other thread and no other image of a process has; 0 where nobody has given any. */
	__u32 thread, image;
};

/* NULL and errno on failure. */
struct profile *profile__new(void);
struct profile *profile__new_limited(const struct profile_limits *limits);
/* Over the dictionary of another one, which outlives it. */
struct profile *profile__new_beside(const struct profile *other);
void profile__free(struct profile *p);

/*
 * Event number index is this one; 0 is "cpu-clock" until told otherwise, and those before that were not
 * told are, too. 0, or -ENOMEM, -E2BIG.
 */
int profile__set_event(struct profile *p, unsigned index, const struct event_spec *spec)
	__attribute__((warn_unused_result));

/* Those of the first event where there is none of that number. */
struct counts *profile__counts(const struct profile *p, unsigned event);
/* Counts one sample of the given weight at the node. */
void profile__count(struct profile *p, unsigned event, __u32 node, __u64 weight);
/* The same with a label, which is the word of the state (profile/states.h); its flags do not count here. */
void profile__count_state(struct profile *p, unsigned event, __u32 node, __u64 weight, __u32 state);

#endif /* KRAIT_PROFILE_PROFILE_H */
