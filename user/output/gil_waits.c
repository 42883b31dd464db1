/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/gil_waits.h"

#include <stdbool.h>
#include <stdlib.h>

#include "profile/dict.h"
#include "profile/idindex.h"
#include "profile/states.h"
#include "base/data/vec.h"

struct counting {
	struct gil_waits *out;
	const struct dict *dict;
	struct gil_holds holds;
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

/*
 * Returns the innermost Python function; in a stack without any, the innermost native one, or the mark that
 * says what the thread did instead. Kernel code serves a caller.
 */
static struct gil_function function_of(const struct dict *dict, __u32 node)
{
	struct gil_function native = { 0 }, mark = { 0 };

	for (; node; node = dict__node_at(dict, node)->parent) {
		const struct profile_frame *f =
			dict__frame_at(dict, dict__node_at(dict, node)->frame);

		if (f->kind == FRAME_PYTHON)
			return (struct gil_function){ f->name, f->file };
		if (!native.name && f->kind == FRAME_NATIVE)
			native = (struct gil_function){ f->name, f->file };
		if (f->kind == FRAME_MARK && !state_of_mark(dict__text(dict, f->name)))
			mark = (struct gil_function){ f->name, 0 };
	}
	return native.name ? native : mark;
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

static int count_wait(struct counting *c, const struct gil_sample *s)
{
	const struct gil_function waiter = function_of(c->dict, s->node);
	const double length_ns = (double)(s->to_ns - s->from_ns);
	__u64 left_ns = s->to_ns - s->from_ns, ns;
	const struct gil_hold *h;
	struct gil_share share;
	int err = 0;

	if (!left_ns)
		return add_pair(c, waiter, (struct gil_function){ 0 }, s->ns, 0);
	gil_share_begin(&share, &c->holds, s);
	while (!err && (h = gil_share_next(&share, &ns))) {
		left_ns -= ns;
		err = add_pair(c, waiter, function_of(c->dict, h->node),
			       s->ns * (double)ns / length_ns, ns);
	}
	if (!err && left_ns)
		err = add_pair(c, waiter, (struct gil_function){ 0 },
			       s->ns * (double)left_ns / length_ns, left_ns);
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
	const double length_ns = (double)(s->to_ns - s->from_ns);

	return length_ns > 0 && s->ns > length_ns ? s->ns / length_ns : 1;
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

/* How sure it is what a sample stands for. */
enum surety { WHOLE_WAIT, TICK, OTHERS_TOO, SURETY_CNT };

static enum surety surety_of(const struct gil_sample *s)
{
	if (!s->off)
		return TICK;
	return s->period_ns > s->to_ns - s->from_ns ? OTHERS_TOO : WHOLE_WAIT;
}

/*
 * Shortens what samples stand for until they fit into all_ns, the least sure ones first; held: only those
 * that hold the lock.
 */
static void fit(struct gil_sample *samples, size_t cnt, double all_ns, bool held)
{
	double sums[SURETY_CNT] = { 0 }, shares[SURETY_CNT];

	for (size_t i = 0; i < cnt; i++) {
		if (!held || samples[i].state & STATE_HOLDS_GIL)
			sums[surety_of(&samples[i])] += samples[i].ns;
	}
	for (int k = 0; k < SURETY_CNT; k++) {
		shares[k] = sums[k] > all_ns ? all_ns / sums[k] : 1;
		all_ns -= shares[k] * sums[k];
	}
	for (size_t i = 0; i < cnt; i++) {
		if (!held || samples[i].state & STATE_HOLDS_GIL)
			samples[i].ns *= shares[surety_of(&samples[i])];
	}
}

/* Returns one past the last sample of the thread that samples[first] is of. */
static size_t behind_thread(const struct gil_sample *samples, size_t cnt, size_t first)
{
	size_t i = first + 1;

	while (i < cnt && samples[i].tid == samples[first].tid)
		i++;
	return i;
}

static void fit_all(struct gil_sample *samples, size_t cnt, const struct gil_times *times)
{
	for (size_t i = 0; i < cnt; i++)
		samples[i].ns =
			(double)samples[i].period_ns * (samples[i].off ? 1 : times->stretch);
	for (size_t first = 0, end; first < cnt; first = end) {
		end = behind_thread(samples, cnt, first);
		fit(samples + first, end - first, times->all_ns, false);
	}
	fit(samples, cnt, times->all_ns, true);
}

static int count_thread(struct gil_waits *w, const struct gil_sample *samples, size_t cnt)
{
	struct gil_thread t = { .tid = samples->tid, .node = samples[cnt - 1].node };

	for (size_t i = 0; i < cnt; i++) {
		const struct gil_sample *s = &samples[i];

		if (s->state & STATE_HOLDS_GIL)
			t.holds_ns += s->ns;
		else if (state_of(s->state) == STATE_GIL)
			t.waits_ns += s->ns;
		else if (s->off)
			t.away_ns += s->ns;
		else if (state_of(s->state) == STATE_NATIVE)
			t.without_ns += s->ns;
	}
	if (vec_reserve(w->threads, w->thread_cap, w->thread_cnt + 1))
		return -ENOMEM;
	w->holds_ns += t.holds_ns;
	w->threads[w->thread_cnt++] = t;
	return 0;
}

int gil_waits_count(struct gil_waits *w, const struct dict *dict, struct gil_sample *samples,
		    size_t cnt, const struct gil_times *times)
{
	struct counting c = { .out = w, .dict = dict };
	int err = 0;

	fit_all(samples, cnt, times);
	for (size_t first = 0, end; first < cnt && !err; first = end) {
		end = behind_thread(samples, cnt, first);
		err = count_thread(w, samples + first, end - first);
		if (!err)
			err = gil_holds_add(&c.holds, samples + first, end - first);
	}
	if (!err)
		err = gil_holds_sort(&c.holds, times->reach_ns);
	if (!err)
		err = count_waits(&c, samples, cnt);
	gil_holds_free(&c.holds);
	idindex_free(&c.pairs);
	idindex_free(&c.hands);
	return err;
}
