/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile.h - what was measured: a dictionary of stacks (profile/dict.h), and what was counted of each
 * event over it (profile/counts.h).
 *
 * Must hold: what an output shows of one event is that of the event it was given; events are never
 * added up, but for time on and off the CPU where somebody asks for the sum.
 */
#ifndef KRAIT_PROFILE_PROFILE_H
#define KRAIT_PROFILE_PROFILE_H

#include <linux/types.h>
#include <stdbool.h>

#include "profile/counts.h"
#include "profile/dict.h"
#include "util/event.h"

struct space;

struct profile {
	struct dict *dict;
	struct counts **events; /* by number of the event */
	unsigned event_cnt, event_cap; /* cnt: at least 1 */
	bool borrowed; /* the dictionary is another profile's */
	const struct profile *sum_of; /* of time: the profile that has its parts; else NULL */
};

/* What perf allows in one file. */
#define PROFILE_MAX_EVENTS 128

/* One sample in time order, as emitters that stream want it. */
struct profile_sample {
	__u64 time_ns; /* CLOCK_MONOTONIC; of a wait, when it ended */
	__u64 from_ns; /* of a wait, when it began; 0: a moment, or not known */
	__u64 period; /* ns for cpu-clock */
	__u32 node;
	__u32 state; /* profile/states.h, with its flags; 0 not known */
	__u32 cpu;
	int pid, tid; /* host */
	const char *comm; /* of the thread, UTF-8 and printable */
	unsigned event; /* index of the profile's event */
	const struct space *space; /* of the process (proc/space.h); NULL none */
	int holder; /* of a wait for the GIL: the thread that had it last as it ended; 0 not known */
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
 * Time as a clock on the wall has it: is the event a part of it? The first clock is, and time off the CPU.
 */
bool profile__in_wall(const struct profile *p, unsigned event);
/*
 * A profile beside this one, with what it has counted so far of these as its one event. 0 or -ENOMEM; -ENODATA:
 * it has none of the two.
 */
int profile__new_wall(struct profile **ret, const struct profile *p)
	__attribute__((warn_unused_result));

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

static inline void profile_cleanup_(struct profile **p)
{
	profile__free(*p);
}
#define cleanup_profile __attribute__((cleanup(profile_cleanup_)))

#endif /* KRAIT_PROFILE_PROFILE_H */
