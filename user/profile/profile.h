/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile.h - what was measured: a dictionary of stacks (profile/dict.h), and the counts of each
 * event over it (profile/counts.h).
 *
 * Must hold: an output shows one event with the numbers of that event; events are never added up,
 * except time on and off the CPU on request.
 */
#ifndef KRAIT_PROFILE_PROFILE_H
#define KRAIT_PROFILE_PROFILE_H

#include <linux/types.h>
#include <stdbool.h>

#include "profile/counts.h"
#include "profile/dict.h"
#include "base/system/event.h"

struct space;

struct profile {
	struct dict *dict;
	struct counts **events; /* indexed by event number */
	unsigned event_cnt, event_cap; /* cnt: at least 1 */
	bool borrowed; /* the dictionary belongs to another profile */
	const struct profile *sum_of; /* for a sum of time: the profile with its parts; else NULL */
};

/* perf's limit for one file. */
#define PROFILE_MAX_EVENTS 128

/* One sample in time order, for emitters that stream. */
struct profile_sample {
	__u64 time_ns; /* CLOCK_MONOTONIC; for a wait, its end */
	__u64 from_ns; /* start of a wait; 0: a moment, or unknown */
	__u64 period; /* ns for cpu-clock */
	__u32 node;
	__u32 state; /* profile/states.h, with its flags; 0 unknown */
	__u32 cpu;
	int pid, tid; /* host */
	const char *comm; /* of the thread, UTF-8 and printable */
	unsigned event; /* index of the profile's event */
	const struct space *space; /* of the process (process/space/space.h); NULL: none */
	/* for a wait for the GIL: the thread that held it last when the wait ended; 0 unknown */
	int holder;
	/* Unique numbers of the thread and of the process's image; 0: not assigned. */
	__u32 thread, image;
};

/* NULL and errno on failure. */
struct profile *profile__new(void);
struct profile *profile__new_limited(const struct profile_limits *limits);
/* A profile that shares the dictionary of another one, which must outlive it. */
struct profile *profile__new_beside(const struct profile *other);
void profile__free(struct profile *p);

/* Is the event part of wall-clock time? The first clock is, and time off the CPU. */
bool profile__in_wall(const struct profile *p, unsigned event);
/* Were both of these recorded to be shown as one (record --wall)? */
bool profile__is_wall(const struct profile *p);
/*
 * Makes a profile beside this one whose single event is the sum of these so far. Returns 0 or
 * -ENOMEM; -ENODATA: it has neither.
 */
int profile__new_wall(struct profile **ret, const struct profile *p)
	__attribute__((warn_unused_result));

/*
 * Sets event number index. Event 0 is "cpu-clock" by default, and so are lower numbers that were
 * not set. Returns 0, or -ENOMEM, -E2BIG.
 */
int profile__set_event(struct profile *p, unsigned index, const struct event_spec *spec)
	__attribute__((warn_unused_result));

/* Returns the first event's counts if there is no such number. */
struct counts *profile__counts(const struct profile *p, unsigned event);
/* Counts one sample of the given weight at the node. */
void profile__count(struct profile *p, unsigned event, __u32 node, __u64 weight);
/* The same with a label: the word of the state (profile/states.h); its flags do not count here. */
void profile__count_state(struct profile *p, unsigned event, __u32 node, __u64 weight, __u32 state);

static inline void profile_cleanup_(struct profile **p)
{
	profile__free(*p);
}
#define cleanup_profile __attribute__((cleanup(profile_cleanup_)))

#endif /* KRAIT_PROFILE_PROFILE_H */
