/* SPDX-License-Identifier: BSD-2-Clause */
#include "emit/gil_waits.h"

#include <stdbool.h>
#include <stdlib.h>

#include "profile/dict.h"
#include "profile/idindex.h"
#include "profile/states.h"
#include "util/cleanup.h"
#include "util/search.h"
#include "util/vec.h"

/* Holds that one wait is compared with; time under later ones counts as unknown. */
#define HOLDS_MAX 1024

struct counting {
	struct gil_waits *out;
	const struct dict *dict;
	struct gil_holds holds;
	__u64 *ends; /* by hold: the latest end of it and all before it */
	struct idindex pairs, hands; /* ids are indexes plus 1 */
	__u64 wait; /* number of the last one */
};

void gil_waits_free(struct gil_waits *w)
{
	free(w->pairs);
	free(w->hands);
	free(w->threads);
	*w = (struct gil_waits){ 0 };
}

/* Returns the innermost Python function; in a stack without any, the innermost function. */
static struct gil_function function_of(const struct dict *dict, __u32 node)
{
	struct gil_function found = { 0 };

	for (; node; node = dict__node_at(dict, node)->parent) {
		const struct profile_frame *f =
			dict__frame_at(dict, dict__node_at(dict, node)->frame);

		if (f->kind == FRAME_PYTHON)
			return (struct gil_function){ f->name, f->file };
		if (!found.name && (f->kind == FRAME_NATIVE || f->kind == FRAME_KERNEL))
			found = (struct gil_function){ f->name, f->file };
	}
	return found;
}

static __u32 hash_of(struct gil_function a, struct gil_function b)
{
	return idindex_hash_pair(idindex_hash_pair(a.name, a.file),
				 idindex_hash_pair(b.name, b.file));
}

static bool is_same(struct gil_function a, struct gil_function b)
{
	return a.name == b.name && a.file == b.file;
}

static struct gil_pair *pair_of(struct counting *c, struct gil_function waiter,
				struct gil_function holder)
{
	__u32 hash = hash_of(waiter, holder);
	struct gil_waits *w = c->out;
	const struct idindex_slot *slot;

	idindex_for_each(&c->pairs, hash, slot) {
		struct gil_pair *p = &w->pairs[slot->id - 1];

		if (is_same(p->waiter, waiter) && is_same(p->holder, holder))
			return p;
	}
	if (vec_reserve(w->pairs, w->pair_cap, w->pair_cnt + 1) || idindex_reserve(&c->pairs))
		return NULL;
	w->pairs[w->pair_cnt] = (struct gil_pair){ .waiter = waiter, .holder = holder };
	idindex_insert(&c->pairs, hash, (__u32)w->pair_cnt + 1);
	return &w->pairs[w->pair_cnt++];
}

/* ns: weighted; own_ns: of this wait alone. */
static int add_pair(struct counting *c, struct gil_function waiter, struct gil_function holder,
		    double ns, __u64 own_ns)
{
	struct gil_pair *p = pair_of(c, waiter, holder);

	if (!p)
		return -ENOMEM;
	if (p->wait != c->wait) {
		p->wait = c->wait;
		p->wait_ns = 0;
	}
	p->ns += ns;
	p->wait_ns += own_ns;
	if (p->wait_ns > p->longest_ns)
		p->longest_ns = p->wait_ns;
	c->out->ns += ns;
	return 0;
}

static int add_hand(struct counting *c, int from, int to, double cnt)
{
	__u32 hash = idindex_hash_pair((__u32)from, (__u32)to);
	struct gil_waits *w = c->out;
	const struct idindex_slot *slot;

	idindex_for_each(&c->hands, hash, slot) {
		struct gil_hand *h = &w->hands[slot->id - 1];

		if (h->from == from && h->to == to) {
			h->cnt += cnt;
			return 0;
		}
	}
	if (vec_reserve(w->hands, w->hand_cap, w->hand_cnt + 1) || idindex_reserve(&c->hands))
		return -ENOMEM;
	w->hands[w->hand_cnt] = (struct gil_hand){ from, to, cnt };
	idindex_insert(&c->hands, hash, (__u32)w->hand_cnt + 1);
	w->hand_cnt++;
	return 0;
}

/* ---- one wait and the holds in it --------------------------------------------------------------- */

static __u64 overlap(const struct gil_sample *s, const struct gil_hold *h)
{
	__u64 from_ns = s->from_ns > h->from_ns ? s->from_ns : h->from_ns;
	__u64 to_ns = s->to_ns < h->to_ns ? s->to_ns : h->to_ns;

	return h->tid != s->tid && from_ns < to_ns ? to_ns - from_ns : 0;
}

/* Returns the first hold that ends after that time. */
static size_t first_hold(const struct counting *c, __u64 time_ns)
{
	return sorted_below(c->holds.cnt, i, c->ends[i] <= time_ns);
}

static size_t behind_holds(const struct counting *c, const struct gil_sample *s, size_t first)
{
	size_t end = first;

	while (end < c->holds.cnt && end - first < HOLDS_MAX &&
	       c->holds.list[end].from_ns < s->to_ns)
		end++;
	return end;
}

/* If holders seem to overlap, since samples are not exact, each gets a share. */
static int count_wait(struct counting *c, const struct gil_sample *s)
{
	const struct gil_function waiter = function_of(c->dict, s->node);
	size_t first = first_hold(c, s->from_ns), end = behind_holds(c, s, first);
	__u64 length_ns = s->to_ns - s->from_ns, known_ns = 0;
	double weight, share;
	int err = 0;

	if (!length_ns)
		return add_pair(c, waiter, (struct gil_function){ 0 }, (double)s->period_ns, 0);
	for (size_t i = first; i < end; i++)
		known_ns += overlap(s, &c->holds.list[i]);
	weight = (double)s->period_ns / (double)length_ns;
	share = known_ns > length_ns ? (double)length_ns / (double)known_ns : 1;
	for (size_t i = first; i < end && !err; i++) {
		double ns = share * (double)overlap(s, &c->holds.list[i]);

		if (ns > 0)
			err = add_pair(c, waiter, function_of(c->dict, c->holds.list[i].node),
				       weight * ns, (__u64)ns);
	}
	if (!err && known_ns < length_ns)
		err = add_pair(c, waiter, (struct gil_function){ 0 },
			       weight * (double)(length_ns - known_ns), length_ns - known_ns);
	return err;
}

/* ---- who hands it to whom ----------------------------------------------------------------------- */

/* A thread that has asked for the lock either waits again within this time or has got it. */
#define AGAIN_NS 1000000ULL

/* A thread whose wait ended before it got the lock: it asks for the lock and waits again. */
struct asking {
	const struct gil_sample *wait; /* the last one; NULL: it is not asking */
	__u64 to_ns; /* until then it did not have the lock */
};

/* Returns how many waits the sample stands for. */
static double weight_of(const struct gil_sample *s)
{
	__u64 length_ns = s->to_ns - s->from_ns;

	return length_ns && s->period_ns > length_ns ? (double)s->period_ns / (double)length_ns : 1;
}

static int hand_over(struct counting *c, const struct gil_sample *s, double cnt)
{
	return s->holder && s->holder != s->tid ? add_hand(c, s->holder, s->tid, cnt) : 0;
}

/*
 * The wait in which the thread gets the lock may take microseconds and go unseen; then a later
 * sample shows that it got the lock. If that wait is seen, it stands for no other one.
 */
static int got_it(struct counting *c, struct asking *a)
{
	const struct gil_sample *wait = a->wait;

	a->wait = NULL;
	return wait ? hand_over(c, wait, weight_of(wait)) : 0;
}

static int take_lock_wait(struct counting *c, struct asking *a, const struct gil_sample *s)
{
	const bool goes_on = a->wait && s->from_ns < a->to_ns + AGAIN_NS;
	const bool still = s->state & STATE_STILL_WAITS;
	int err = 0;

	if (!goes_on) {
		err = got_it(c, a);
		c->wait++;
	}
	if (!err)
		err = count_wait(c, s);
	if (!err && !still)
		err = hand_over(c, s, goes_on ? weight_of(a->wait) : weight_of(s));
	*a = (struct asking){ still ? s : NULL, s->to_ns };
	return err;
}

static int count_waits(struct counting *c, const struct gil_sample *samples, size_t cnt)
{
	struct asking asking = { 0 };
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++) {
		const struct gil_sample *s = &samples[i];

		/* Nobody saw how that ended. */
		if (i && s->tid != s[-1].tid)
			asking.wait = NULL;
		if (state_of(s->state) == STATE_GIL)
			err = take_lock_wait(c, &asking, s);
		else if (s->state & STATE_HOLDS_GIL)
			err = got_it(c, &asking);
		else if (state_of(s->state) == STATE_RUNNABLE && s->to_ns > asking.to_ns)
			asking.to_ns = s->to_ns;
	}
	return err;
}

/* ---- threads ------------------------------------------------------------------------------------ */

static int compare_holds(const void *a, const void *b)
{
	const struct gil_hold *x = a, *y = b;

	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

static int count_thread(struct counting *c, const struct gil_sample *samples, size_t cnt,
			double stretch)
{
	struct gil_thread t = { .tid = samples->tid, .node = samples[cnt - 1].node };
	struct gil_waits *w = c->out;
	size_t before = c->holds.cnt;

	for (size_t i = 0; i < cnt; i++) {
		if (state_of(samples[i].state) == STATE_GIL)
			t.waits_ns += (double)samples[i].period_ns;
		else if (state_of(samples[i].state) == STATE_NATIVE)
			t.without_ns += stretch * (double)samples[i].period_ns;
	}
	if (gil_holds_add(&c->holds, samples, cnt, stretch))
		return -ENOMEM;
	for (size_t i = before; i < c->holds.cnt; i++)
		t.holds_ns += (double)(c->holds.list[i].to_ns - c->holds.list[i].from_ns);
	if (vec_reserve(w->threads, w->thread_cap, w->thread_cnt + 1))
		return -ENOMEM;
	w->threads[w->thread_cnt++] = t;
	return 0;
}

static int order_holds(struct counting *c)
{
	__u64 end_ns = 0;

	if (c->holds.cnt)
		qsort(c->holds.list, c->holds.cnt, sizeof(*c->holds.list), compare_holds);
	c->ends = calloc(c->holds.cnt + 1, sizeof(*c->ends));
	for (size_t i = 0; c->ends && i < c->holds.cnt; i++) {
		if (c->holds.list[i].to_ns > end_ns)
			end_ns = c->holds.list[i].to_ns;
		c->ends[i] = end_ns;
	}
	return c->ends ? 0 : -ENOMEM;
}

int gil_waits_count(struct gil_waits *w, const struct dict *dict, const struct gil_sample *samples,
		    size_t cnt, double stretch)
{
	struct counting c = { .out = w, .dict = dict };
	size_t first = 0;
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++) {
		if (i + 1 < cnt && samples[i + 1].tid == samples[i].tid)
			continue;
		err = count_thread(&c, samples + first, i + 1 - first, stretch);
		first = i + 1;
	}
	if (!err)
		err = order_holds(&c);
	if (!err)
		err = count_waits(&c, samples, cnt);
	free(c.ends);
	free(c.holds.list);
	idindex_free(&c.pairs);
	idindex_free(&c.hands);
	return err;
}
