/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timeline.h - keeps the samples of each thread for formats that are written thread by thread.
 */
#ifndef KRAIT_OUTPUT_TIMELINE_H
#define KRAIT_OUTPUT_TIMELINE_H

#include "output/emitter.h"
#include "profile/profile.h"

/* 32 bytes each: 3.2 GB. Later samples are counted but not kept. */
#define TIMELINE_MAX_SAMPLES 100000000ULL

struct timeline_sample {
	__u64 time_ns, weight;
	__u64 from_ns; /* a wait's start (time_ns is its end); 0: a moment */
	__u32 node;
	__u16 event; /* index of the profile's event */
	__u16 state; /* profile/states.h: the state and those of its flags that fit */
};

struct timeline_thread {
	int pid, tid;
	char name[64]; /* its last one, once timeline__threads() ran */
	struct timeline_sample *samples; /* sorted by time once timeline__threads() ran */
	size_t cnt, cap;
};

struct timeline;

/* Returns NULL and sets errno on failure. */
struct timeline *timeline__new(void);
void timeline__free(struct timeline *t);
/* Returns 0, -ENOMEM or -E2BIG. */
int timeline__add(struct timeline *t, const struct profile_sample *s);
/*
 * Within each stretch of that width, merges a thread's samples of one node, event and state into
 * one, with the summed weight, at the time of the last. Returns how many are left.
 */
__u64 timeline__thin(struct timeline *t, __u64 width_ns);
#define TIMELINE_ALL_EVENTS (~0U)
/*
 * Returns threads by pid and tid, each with its samples of one event by time; other samples are
 * dropped. TIMELINE_ALL_EVENTS drops none. dict: has their last names; NULL: those at their last
 * samples.
 */
struct timeline_thread *timeline__threads(struct timeline *t, const struct dict *dict,
					  unsigned event, size_t *ret_cnt);
/* Over all samples and the waits they end. */
__u64 timeline__first_ns(const struct timeline *t);
/* Returns a process's name: that of its first frame above a node; "" if none. */
const char *timeline_process_name(const struct dict *dict, __u32 node);

/* State of formats that write thread by thread at the end. */
struct timeline_emitter {
	struct emitter base;
	struct timeline *timeline;
};
int timeline_emitter_open(struct emitter **ret, FILE *out, const struct emit_options *options);
int timeline_emitter_sample(struct emitter *e, const struct profile *p,
			    const struct profile_sample *s);
void timeline_emitter_free(struct emitter *e);
/* Returns the emitter's timeline. */
struct timeline *timeline_of(struct emitter *e);

#endif /* KRAIT_OUTPUT_TIMELINE_H */
