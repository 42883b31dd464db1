/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timeline.h - the samples of each thread, kept for formats that are written thread by thread.
 */
#ifndef KRAIT_EMIT_TIMELINE_H
#define KRAIT_EMIT_TIMELINE_H

#include "emit/emitter.h"
#include "profile/profile.h"

/* 32 bytes each: 3.2 GB. What comes after is not kept, and is counted. */
#define TIMELINE_MAX_SAMPLES 100000000ULL

struct timeline_sample {
	__u64 time_ns, weight;
	__u64 from_ns; /* of a wait: it lasted from then to time_ns; 0: a moment */
	__u32 node;
	__u16 event; /* index of the profile's event */
	__u16 state; /* profile/states.h: the state, and its flags that fit */
};

struct timeline_thread {
	int pid, tid;
	char name[64]; /* the last one it had */
	struct timeline_sample *samples; /* in order of time, once sorted */
	size_t cnt, cap;
};

struct timeline;

/* NULL and errno on failure. */
struct timeline *timeline__new(void);
void timeline__free(struct timeline *t);
/* 0, -ENOMEM, -E2BIG. */
int timeline__add(struct timeline *t, const struct profile_sample *s);
/*
 * Samples of a thread at one node, of one event and one state, become one in each stretch of that width: with the sum of
 * their weights, at the time of the last. The number of those that are left.
 */
__u64 timeline__thin(struct timeline *t, __u64 width_ns);
#define TIMELINE_ALL_EVENTS (~0U)
/*
 * Threads by pid and tid, each with its samples of one event by time; the others are dropped. An event that is none,
 * TIMELINE_ALL_EVENTS: nothing is.
 */
struct timeline_thread *timeline__threads(struct timeline *t, unsigned event, size_t *ret_cnt);
/* Of all samples, and of the waits that they are of. */
__u64 timeline__first_ns(const struct timeline *t);
/* Name of a process: that of its first frame above a node, "" if there is none. */
const char *timeline_process_name(const struct dict *dict, __u32 node);

/* What formats keep that are written thread by thread at the end. */
struct timeline_emitter {
	struct emitter base;
	struct timeline *timeline;
};
int timeline_emitter_open(struct emitter **ret, FILE *out, const struct emit_options *options);
int timeline_emitter_sample(struct emitter *e, const struct profile *p,
			    const struct profile_sample *s);
void timeline_emitter_free(struct emitter *e);
/* Theirs. */
struct timeline *timeline_of(struct emitter *e);

#endif /* KRAIT_EMIT_TIMELINE_H */
