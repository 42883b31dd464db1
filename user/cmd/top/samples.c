/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"

struct samples {
	struct profile *all, *later; /* later: during a pause */
	__u64 all_ns;
	bool paused;
	__u64 paused_ns; /* start of the pause */
	struct round rounds[ROUNDS_MAX + 1]; /* by number; one of them is in progress */
	__u64 number; /* the round in progress */
};

static struct round *round_at(struct samples *s, __u64 number)
{
	return &s->rounds[number % (ROUNDS_MAX + 1)];
}

/* ---- life ------------------------------------------------------------------------------------- */

static struct profile *new_profile(const struct profile *session)
{
	struct profile *p = profile__new_beside(session);

	for (unsigned i = 0; p && i < session->event_cnt; i++) {
		if (profile__set_event(p, i, &profile__counts(session, i)->event)) {
			profile__free(p);
			p = NULL;
		}
	}
	return p;
}

static void drop(struct round *r)
{
	sample_store_clear(&r->samples);
	r->number = 0;
}

/* Begins the round of that number in the place of the oldest. */
static void begin_round(struct samples *s, __u64 now_ns)
{
	struct round *r = round_at(s, s->number);

	sample_store_clear(&r->samples);
	r->number = s->number;
	r->from_ns = now_ns;
	r->to_ns = 0;
}

struct samples *samples__new(const struct profile *session, __u64 now_ns)
{
	struct samples *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->number = 1;
	s->all = new_profile(session);
	s->later = new_profile(session);
	if (!s->all || !s->later) {
		profile__free(s->all);
		profile__free(s->later);
		free(s);
		return NULL;
	}
	for (unsigned i = 0; i <= ROUNDS_MAX; i++)
		sample_store_begin(&s->rounds[i].samples, session->dict, ROUND_SAMPLES_MAX);
	begin_round(s, now_ns);
	return s;
}

void samples__free(struct samples *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i <= ROUNDS_MAX; i++)
		sample_store_end(&s->rounds[i].samples);
	profile__free(s->all);
	profile__free(s->later);
	free(s);
}

/* ---- rounds ----------------------------------------------------------------------------------- */

static void count_one(struct profile *p, const struct profile_sample *from)
{
	profile__count_state(p, from->event, from->node, from->period, from->state);
}

void samples__add(struct samples *s, const struct profile_sample *from)
{
	if (s->paused)
		count_one(s->later, from);
	else if (!sample_store_add(&round_at(s, s->number)->samples, from))
		count_one(s->all, from);
}

static void count(struct profile *p, const struct round *r)
{
	for (__u32 i = 0; i < r->samples.cnt; i++) {
		const struct stored_sample *sample = &r->samples.list[i];

		profile__count_state(p, sample->event, sample->node, sample->weight, sample->state);
	}
}

/* Drops the oldest rounds until the rest is small enough; always keeps the last one. */
static void bound(struct samples *s)
{
	__u64 cnt = 0;

	for (__u64 n = s->number; n && s->number - n <= ROUNDS_MAX; n--) {
		struct round *r = round_at(s, n);

		if (r->number != n)
			break;
		cnt += r->samples.cnt;
		if (cnt > ROUND_SAMPLES_MAX && n < s->number)
			drop(r);
	}
}

bool samples__end_round(struct samples *s, __u64 now_ns)
{
	struct round *r = round_at(s, s->number);

	if (s->paused)
		return false;
	count(s->all, r);
	r->to_ns = now_ns;
	s->all_ns += now_ns - r->from_ns;
	bound(s);
	s->number++;
	begin_round(s, now_ns);
	return true;
}

const struct round *samples__round(const struct samples *s, unsigned age)
{
	const struct round *r;

	if (age >= ROUNDS_MAX || s->number <= (__u64)age + 1)
		return NULL;
	r = &s->rounds[(s->number - 1 - age) % (ROUNDS_MAX + 1)];
	return r->number == s->number - 1 - age ? r : NULL;
}

const struct round *samples__open(const struct samples *s)
{
	return &s->rounds[s->number % (ROUNDS_MAX + 1)];
}

struct profile *samples__all(const struct samples *s)
{
	return s->all;
}

__u64 samples__all_ns(const struct samples *s)
{
	return s->all_ns;
}

void samples__profiles(const struct samples *s, struct profile *ret[2])
{
	ret[0] = s->all;
	ret[1] = s->later;
}

static void clear(struct profile *p)
{
	for (unsigned i = 0; i < p->event_cnt; i++)
		counts__clear(profile__counts(p, i));
}

/* The round in progress starts anew, too. */
void samples__reset(struct samples *s, __u64 now_ns)
{
	struct round *r = round_at(s, s->number);

	clear(s->all);
	clear(s->later);
	s->all_ns = 0;
	sample_store_clear(&r->samples);
	r->from_ns = s->paused_ns = now_ns;
}

/* Counts what came during a pause; if memory runs out, tries again later. */
static bool merge_later(struct samples *s)
{
	for (unsigned i = 0; i < s->later->event_cnt; i++) {
		struct counts *from = profile__counts(s->later, i);

		if (from->samples && counts__merge(profile__counts(s->all, i), from))
			return false;
		counts__clear(from);
	}
	return true;
}

/* After the pause, the round in progress continues as if there had been none. */
void samples__pause(struct samples *s, bool paused, __u64 now_ns)
{
	if (paused == s->paused)
		return;
	if (paused) {
		s->paused_ns = now_ns;
	} else {
		if (!merge_later(s))
			return;
		s->all_ns += now_ns - s->paused_ns;
		round_at(s, s->number)->from_ns += now_ns - s->paused_ns;
	}
	s->paused = paused;
}

bool samples__is_paused(const struct samples *s)
{
	return s->paused;
}

/* ---- what a sample is ------------------------------------------------------------------------- */

enum measure measure_of(__u32 event, enum state state)
{
	if (!event)
		return MEASURE_CPU;
	return state == STATE_GIL      ? MEASURE_GIL :
	       state == STATE_RUNNABLE ? MEASURE_READY :
					 MEASURE_WAIT;
}

void samples__split(const struct samples *s, unsigned age, const struct stored_sample *sample,
		    sample_part_fn fn, void *ctx)
{
	const struct round *r = samples__round(s, age);
	__u64 left = sample->weight, begin = sample->time_ns - sample->weight;

	if (!sample->event) {
		fn(ctx, r ? r->number : 0, left);
		return;
	}
	for (; r && left; r = samples__round(s, ++age)) {
		__u64 from = r->from_ns > begin ? r->from_ns : begin;
		__u64 to = r->to_ns < sample->time_ns ? r->to_ns : sample->time_ns;
		__u64 ns = to > from ? to - from : 0;

		if (ns > left)
			ns = left;
		left -= ns;
		if (ns)
			fn(ctx, r->number, ns);
	}
	if (left)
		fn(ctx, 0, left);
}

static enum state state_of_label(const __u32 labels[STATE_CNT], __u32 label)
{
	for (enum state i = STATE_UNKNOWN + 1; i < STATE_CNT; i++) {
		if (labels[i] == label)
			return i;
	}
	return STATE_UNKNOWN;
}

static int each_of_event(const struct counts *c, __u32 event, sample_count_fn fn, void *ctx)
{
	cleanup_free struct node_count *rest = calloc(c->cnt, sizeof(*rest));
	__u32 labels[STATE_CNT] = { 0 }, cnt;
	const struct label_count *l = counts__labelled(c, &cnt);

	if (!rest)
		return -ENOMEM;
	memcpy(rest, c->by_node, c->cnt * sizeof(*rest));
	for (enum state i = STATE_UNKNOWN + 1; i < STATE_CNT; i++)
		labels[i] = dict__string(c->dict, state_name(i));
	for (__u32 i = 1; i <= cnt; i++) {
		struct node_count *node = &rest[l[i].node];

		node->samples -= l[i].n.samples;
		node->weight -= l[i].n.weight;
		fn(ctx, l[i].node, event, state_of_label(labels, l[i].label), l[i].n.samples,
		   l[i].n.weight);
	}
	/*
	 * Sums with labels are subtracted from the node's count; 0 left means that all of it has
	 * labels.
	 */
	for (__u32 i = 0; i < c->cnt; i++) {
		if (rest[i].samples)
			fn(ctx, i, event, STATE_UNKNOWN, rest[i].samples, rest[i].weight);
	}
	return 0;
}

int samples__each(const struct samples *s, sample_count_fn fn, void *ctx)
{
	int err = 0;

	for (unsigned i = 0; i < s->all->event_cnt && !err; i++)
		err = each_of_event(profile__counts(s->all, i), i, fn, ctx);
	return err;
}
