/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/gil_holds.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/states.h"
#include "base/data/compare.h"
#include "base/data/search.h"
#include "base/data/vec.h"

/* Sightings that one wait is compared with; time under later ones has no known holder. */
#define SHARE_MAX 1024

static __u64 earlier(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

static __u64 later(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

static __u64 middle(__u64 a, __u64 b)
{
	return a < b ? a + (b - a) / 2 : a;
}

static bool says_held(const struct gil_sample *s)
{
	return s->state & STATE_HOLDS_GIL;
}

/* ---- sightings ------------------------------------------------------------------------------------ */

/*
 * The thread has the lock in the second of two samples, and not in the first: since when at most. A wait
 * without the lock lasted to its end; of a moment nobody knows how long it lasted.
 */
static __u64 got(const struct gil_sample *without, const struct gil_sample *held)
{
	__u64 ns = without->off ? without->to_ns : middle(without->to_ns, held->from_ns);

	return earlier(ns, held->from_ns);
}

static __u64 lost(const struct gil_sample *held, const struct gil_sample *without)
{
	__u64 ns = without->off ? without->from_ns : middle(held->to_ns, without->from_ns);

	return later(ns, held->to_ns);
}

int gil_holds_add(struct gil_holds *h, const struct gil_sample *samples, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct gil_sample *s = &samples[i];

		if (!says_held(s))
			continue;
		if (vec_reserve(h->list, h->cap, h->cnt + 1))
			return -ENOMEM;
		h->list[h->cnt++] = (struct gil_hold){
			.from_ns = s->from_ns,
			.to_ns = s->to_ns,
			.least_ns = i && !says_held(s - 1) ? got(s - 1, s) : 0,
			.most_ns = i + 1 < cnt && !says_held(s + 1) ? lost(s, s + 1) : ~0ULL,
			.node = s->node,
			.tid = s->tid,
		};
	}
	return 0;
}

static int compare_holds(const void *a, const void *b)
{
	const struct gil_hold *x = a, *y = b;

	return compare_numbers(x->from_ns, y->from_ns) ?: compare_numbers(x->to_ns, y->to_ns);
}

int gil_holds_sort(struct gil_holds *h, __u64 reach_ns)
{
	__u64 end_ns = 0;

	h->reach_ns = reach_ns;
	h->ends = calloc(h->cnt + 1, sizeof(*h->ends));
	if (!h->ends)
		return -ENOMEM;
	if (h->cnt)
		qsort(h->list, h->cnt, sizeof(*h->list), compare_holds);
	for (size_t i = 0; i < h->cnt; i++) {
		end_ns = later(end_ns, h->list[i].to_ns);
		h->ends[i] = end_ns;
	}
	return 0;
}

void gil_holds_free(struct gil_holds *h)
{
	free(h->list);
	free(h->ends);
	*h = (struct gil_holds){ 0 };
}

/* ---- within a wait -------------------------------------------------------------------------------- */

static __u64 back(__u64 ns, __u64 reach_ns)
{
	return ns > reach_ns ? ns - reach_ns : 0;
}

static __u64 on(__u64 ns, __u64 reach_ns)
{
	return ns < ~0ULL - reach_ns ? ns + reach_ns : ~0ULL;
}

void gil_share_begin(struct gil_share *s, const struct gil_holds *h, const struct gil_sample *wait)
{
	const __u64 from_ns = back(wait->from_ns, h->reach_ns),
		    to_ns = on(wait->to_ns, h->reach_ns);
	size_t at = sorted_below(h->cnt, i, h->ends[i] < from_ns), end = at;

	while (end < h->cnt && end - at < SHARE_MAX && h->list[end].from_ns <= to_ns)
		end++;
	*s = (struct gil_share){ h, NULL, wait->from_ns, wait->to_ns, at, end, wait->tid };
}

/* What lies between two sightings belongs to the nearer one, unless that one's bounds forbid it. */
static __u64 end_of(const struct gil_hold *a, const struct gil_hold *b)
{
	__u64 ns = middle(a->to_ns, b->from_ns);

	return earlier(later(ns, b->least_ns), a->most_ns);
}

static __u64 begin_of(const struct gil_hold *a, const struct gil_hold *b)
{
	__u64 ns = middle(a->to_ns, b->from_ns);

	return later(earlier(ns, a->most_ns), b->least_ns);
}

/* Returns the next sighting of another thread from there on; NULL: none. */
static const struct gil_hold *other(const struct gil_share *s, size_t i)
{
	while (i < s->end && s->holds->list[i].tid == s->tid)
		i++;
	return i < s->end ? &s->holds->list[i] : NULL;
}

const struct gil_hold *gil_share_next(struct gil_share *s, __u64 *ret_ns)
{
	const __u64 reach_ns = s->holds->reach_ns;
	const struct gil_hold *h, *after;
	__u64 from_ns, to_ns;

	while ((h = other(s, s->at))) {
		s->at = (size_t)(h - s->holds->list) + 1;
		after = other(s, s->at);
		from_ns = later(back(h->from_ns, reach_ns), h->least_ns);
		to_ns = earlier(on(h->to_ns, reach_ns), h->most_ns);
		if (s->before)
			from_ns = later(from_ns, begin_of(s->before, h));
		if (after)
			to_ns = earlier(to_ns, end_of(h, after));
		s->before = h;
		/* Samples of one file may contradict each other. */
		from_ns = later(from_ns, s->from_ns);
		to_ns = earlier(to_ns, s->to_ns);
		if (from_ns >= to_ns)
			continue;
		s->from_ns = to_ns;
		*ret_ns = to_ns - from_ns;
		return h;
	}
	return NULL;
}
