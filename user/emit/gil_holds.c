/* SPDX-License-Identifier: BSD-2-Clause */
#include "emit/gil_holds.h"

#include "profile/states.h"
#include "util/vec.h"

/* A stretch in which a thread seems to hold the lock, beginning at from_ns. */
struct turn {
	struct gil_holds *holds;
	const struct gil_sample *samples;
	size_t first, cnt; /* the samples that prove it */
	__u64 from_ns;
	double stretch;
	bool open, exact; /* exact: from_ns is the time at which it took the lock */
};

static int put(struct gil_holds *h, int tid, __u64 from_ns, __u64 to_ns, __u32 node)
{
	if (from_ns >= to_ns)
		return 0;
	if (vec_reserve(h->list, h->cap, h->cnt + 1))
		return -ENOMEM;
	h->list[h->cnt++] = (struct gil_hold){ from_ns, to_ns, node, tid };
	return 0;
}

static bool says_held(const struct gil_sample *s)
{
	return s->state & STATE_HOLDS_GIL;
}

/* A tick stands for half of the time around it; a wait for its own length. */
static __u64 reach(const struct turn *t, const struct gil_sample *s)
{
	return s->off ? 0 : (__u64)((double)s->period_ns * t->stretch / 2);
}

static __u64 middle(__u64 a, __u64 b)
{
	return a < b ? a + (b - a) / 2 : a;
}

static __u64 earlier(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

static __u64 later(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

/* Each sample gets the time that is nearer to it than to other samples. */
static int put_parts(const struct turn *t, __u64 to_ns)
{
	__u64 begin_ns = t->from_ns;
	int err = 0;

	for (size_t i = t->first; i < t->first + t->cnt && !err; i++) {
		const struct gil_sample *s = &t->samples[i];
		bool last = i + 1 == t->first + t->cnt;
		__u64 end_ns = last ? to_ns : middle(s->to_ns, s[1].from_ns);

		end_ns = earlier(later(end_ns, begin_ns), to_ns);
		err = put(t->holds, s->tid, begin_ns, end_ns, s->node);
		begin_ns = end_ns;
	}
	return err;
}

/* end: the next wait for the lock, which says where the thread lost it; NULL: none. */
static int close_turn(struct turn *t, __u64 to_ns, const struct gil_sample *end)
{
	if (!t->open)
		return 0;
	t->open = false;
	if (!t->cnt)
		return end ? put(t->holds, end->tid, t->from_ns, to_ns, end->node) : 0;
	return put_parts(t, to_ns);
}

/* The thread no longer holds the lock, but no sample says since when. */
static int lose(struct turn *t, __u64 until_ns)
{
	const struct gil_sample *last = t->cnt ? &t->samples[t->first + t->cnt - 1] : NULL;

	if (!last) {
		t->open = false;
		return 0;
	}
	return close_turn(t, earlier(until_ns, last->to_ns + reach(t, last)), NULL);
}

static int take_wait(struct turn *t, size_t i)
{
	const struct gil_sample *s = &t->samples[i];
	int err = close_turn(t, s->from_ns, s);

	t->open = t->exact = !(s->state & STATE_STILL_WAITS);
	t->from_ns = s->to_ns;
	t->cnt = 0;
	return err;
}

/* The thread was woken to take the lock and is waiting for a CPU. */
static bool is_rest_of_wait(const struct turn *t, const struct gil_sample *s)
{
	return t->open && t->exact && !t->cnt && state_of(s->state) == STATE_RUNNABLE &&
	       s->from_ns == t->from_ns;
}

static void take_held(struct turn *t, size_t i)
{
	const struct gil_sample *s = &t->samples[i];
	__u64 near_ns = reach(t, s), after_ns = i ? s[-1].to_ns : 0;

	if (!t->open) {
		t->open = true;
		t->exact = false;
		t->cnt = 0;
		t->from_ns = later(s->from_ns > near_ns ? s->from_ns - near_ns : 0, after_ns);
	}
	if (!t->cnt++)
		t->first = i;
}

int gil_holds_add(struct gil_holds *holds, const struct gil_sample *samples, size_t cnt,
		  double stretch)
{
	struct turn t = { .holds = holds, .samples = samples, .stretch = stretch };
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++) {
		const struct gil_sample *s = &samples[i];

		if (says_held(s))
			take_held(&t, i);
		else if (state_of(s->state) == STATE_GIL)
			err = take_wait(&t, i);
		else if (is_rest_of_wait(&t, s))
			t.from_ns = s->to_ns;
		else
			err = lose(&t, s->from_ns);
	}
	return err ? err : lose(&t, ~0ULL);
}
