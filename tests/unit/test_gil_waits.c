/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_gil_waits.c - whom waits for an interpreter's lock were for: sums stay complete and possible, time
 * without a holder is unknown, and who hands it to whom.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "output/gil_waits.h"
#include "profile/states.h"
#include "support_profile.h"

/* Two threads that take turns, and one that waits the whole time. */
#define A 11
#define B 12
#define C 13

static __u32 nodes[4]; /* by thread - 10 */

static struct gil_sample lock_wait(int tid, __u64 from, __u64 to, int holder, __u32 flags)
{
	return (struct gil_sample){ .from_ns = from,
				    .to_ns = to,
				    .period_ns = to - from,
				    .node = nodes[tid - 10],
				    .state = STATE_GIL | flags,
				    .tid = tid,
				    .holder = holder,
				    .off = true };
}

static struct profile *new_profile(void)
{
	struct profile *p = profile__new();

	nodes[1] = push(p, 0, add_function(p, "a", "x.py", 1, 1));
	nodes[2] = push(p, 0, add_function(p, "b", "x.py", 2, 2));
	nodes[3] = push(p, 0, add_function(p, "c", "x.py", 3, 3));
	return p;
}

static const struct gil_pair *find(const struct gil_waits *w, const struct profile *p,
				   const char *waiter, const char *holder)
{
	__u32 from = dict__string(p->dict, waiter),
	      by = *holder ? dict__string(p->dict, holder) : 0;

	for (size_t i = 0; i < w->pair_cnt; i++) {
		if (w->pairs[i].waiter.name == from && w->pairs[i].holder.name == by)
			return &w->pairs[i];
	}
	fail_msg("%s does not wait for %s", waiter, holder);
	return NULL;
}

static struct gil_sample tick(int tid, __u64 at, __u64 period, bool held)
{
	return (struct gil_sample){ .from_ns = at,
				    .to_ns = at,
				    .period_ns = period,
				    .node = nodes[tid - 10],
				    .state = held ? STATE_PYTHON | STATE_HOLDS_GIL : STATE_NATIVE,
				    .tid = tid };
}

static const struct gil_times times = { .all_ns = 1e9, .stretch = 1, .reach_ns = 1000 };

static int count(struct gil_waits *w, const struct profile *p, struct gil_sample *samples,
		 size_t cnt)
{
	return gil_waits_count(w, p->dict, samples, cnt, &times);
}

static void each_wait_is_for_who_held_it(void **state)
{
	struct profile *p = new_profile();
	/* a holds 1000..2000 and 3000..4000, b 2000..3000; c waits from 1000 to 3500. */
	struct gil_sample samples[] = {
		lock_wait(A, 0, 1000, 0, 0),
		tick(A, 1500, 1000, true),
		lock_wait(A, 2000, 3000, B, 0),
		tick(A, 3400, 1000, true),
		lock_wait(A, 4000, 4100, 0, 0),
		lock_wait(B, 1000, 2000, A, 0),
		tick(B, 2500, 1000, true),
		lock_wait(B, 3000, 4000, A, 0),
		lock_wait(C, 1000, 3000, A, STATE_STILL_WAITS),
		lock_wait(C, 3000, 3500, A, 0),
	};
	struct gil_waits w = { 0 };

	assert_int_equal(count(&w, p, samples, 10), 0);
	assert_int_equal(w.thread_cnt, 3);
	assert_int_equal((int)w.ns, 1000 + 1000 + 100 + 1000 + 1000 + 2000 + 500);
	assert_int_equal((int)find(&w, p, "a", "b")->ns, 1000);
	assert_int_equal((int)find(&w, p, "a", "")->ns, 1000 + 100);
	assert_int_equal((int)find(&w, p, "b", "a")->ns, 2000);
	assert_int_equal((int)find(&w, p, "c", "a")->ns, 1500);
	assert_int_equal((int)find(&w, p, "c", "b")->ns, 1000);
	/* Both parts of c's wait are one. */
	assert_int_equal(find(&w, p, "c", "a")->longest_ns, 1500);
	assert_int_equal(find(&w, p, "b", "a")->longest_ns, 1000);
	assert_int_equal((int)w.threads[0].holds_ns, 2000);
	assert_int_equal((int)w.threads[1].holds_ns, 1000);
	assert_int_equal((int)w.holds_ns, 3000);
	assert_int_equal((int)w.threads[2].waits_ns, 2500);
	assert_int_equal(w.hand_cnt, 3);
	assert_true(w.hands[1].from == A && w.hands[1].to == B && w.hands[1].cnt == 2);
	gil_waits_free(&w);
	profile__free(p);
}

/*
 * Two threads hold it now and then, and wait for it hardly ever: what they hold is what was seen, not all
 * that lies between two waits.
 */
static void what_was_not_seen_is_nobodys(void **state)
{
	struct profile *p = new_profile();
	struct gil_sample samples[] = {
		lock_wait(A, 0, 1000, 0, 0),	    tick(A, 2000, 1000, true),
		tick(A, 500000, 1000, true),	    lock_wait(A, 900000, 901000, 0, 0),
		lock_wait(B, 0, 1000, 0, 0),	    tick(B, 3000, 1000, true),
		lock_wait(B, 800000, 801000, 0, 0), lock_wait(C, 100000, 700000, 0, 0),
	};
	struct gil_waits w = { 0 };

	assert_int_equal(count(&w, p, samples, 8), 0);
	assert_int_equal((int)w.threads[0].holds_ns, 2000);
	assert_int_equal((int)w.threads[1].holds_ns, 1000);
	assert_int_equal((int)find(&w, p, "c", "a")->ns, 2000);
	assert_int_equal((int)find(&w, p, "c", "")->ns, 598000);
	gil_waits_free(&w);
	profile__free(p);
}

static double sum_of(const struct gil_thread *t)
{
	return t->waits_ns + t->holds_ns + t->without_ns + t->away_ns;
}

/* Short waits that stand for a second each, too many ticks, and a thread that waits all the time. */
static void nothing_is_more_than_there_was(void **state)
{
	struct profile *p = new_profile();
	const struct gil_times short_times = { .all_ns = 100000, .stretch = 1.5, .reach_ns = 1000 };
	struct gil_sample samples[200];
	struct gil_waits w = { 0 };
	size_t cnt = 0;

	for (__u64 i = 0; i < 90; i++)
		samples[cnt++] = tick(A, 1000 * i, 1000, true);
	samples[cnt] = lock_wait(A, 90000, 90010, 0, 0);
	samples[cnt].state = STATE_RUNNABLE | STATE_HOLDS_GIL;
	samples[cnt++].period_ns = 1ULL << 30;
	samples[cnt++] = lock_wait(B, 0, 60000, 0, 0);
	for (__u64 i = 0; i < 40; i++)
		samples[cnt++] = tick(B, 60000 + 1000 * i, 1000, i % 2);
	samples[cnt] = lock_wait(B, 99900, 99910, 0, 0);
	samples[cnt].state = STATE_IO;
	samples[cnt++].period_ns = 1ULL << 30;
	samples[cnt++] = lock_wait(C, 0, 1ULL << 40, 0, 0);
	assert_int_equal(gil_waits_count(&w, p->dict, samples, cnt, &short_times), 0);
	assert_int_equal(w.thread_cnt, 3);
	for (size_t i = 0; i < w.thread_cnt; i++)
		assert_true(sum_of(&w.threads[i]) <= 100000.5);
	assert_true(w.holds_ns <= 100000.5);
	/* The surest has all its time: b's wait, then ticks; the short waits share what is left. */
	assert_int_equal((int)w.threads[1].waits_ns, 60000);
	assert_true(w.threads[1].away_ns < 1);
	assert_int_equal((int)w.threads[2].waits_ns, 100000);
	/* Holds: 135000 of ticks for a, cut to 100000 by itself, and 20000 for b, have to share 100000. */
	assert_true(w.threads[0].holds_ns > 80000 && w.threads[0].holds_ns < 85000);
	gil_waits_free(&w);
	profile__free(p);
}

/* One of many short ones stands for the others. */
static void a_sampled_wait_counts_with_its_weight(void **state)
{
	struct profile *p = new_profile();
	struct gil_sample samples[] = { lock_wait(A, 0, 1000, 0, 0), tick(A, 1550, 1000, true),
					lock_wait(A, 2000, 2100, B, 0),
					lock_wait(B, 1500, 1600, A, 0) };
	struct gil_waits w = { 0 };

	samples[3].period_ns = 1000;
	assert_int_equal(count(&w, p, samples, 4), 0);
	assert_int_equal((int)find(&w, p, "b", "a")->ns, 1000);
	assert_int_equal(find(&w, p, "b", "a")->longest_ns, 100);
	assert_int_equal((int)w.hands[1].cnt, 10);
	gil_waits_free(&w);
	profile__free(p);
}

/*
 * Two waits of the full interval, each followed by one of microseconds in which the thread got the
 * lock. The first of these is sampled and stands for many; the second goes unseen, but the thread
 * holds the lock afterwards, or waits again.
 */
static void a_wait_that_is_not_seen_is_a_hand_over(void **state)
{
	struct profile *p = new_profile();
	const __u64 ms = 1000000;
	struct gil_sample samples[] = {
		lock_wait(B, 0, 5 * ms, A, STATE_STILL_WAITS),
		lock_wait(B, 5 * ms + 1000, 5 * ms + 2000, A, 0),
		lock_wait(B, 20 * ms, 25 * ms, A, STATE_STILL_WAITS),
		lock_wait(B, 40 * ms, 45 * ms, A, STATE_STILL_WAITS),
		lock_wait(B, 45 * ms, 46 * ms, A, 0),
		lock_wait(B, 60 * ms, 65 * ms, A, STATE_STILL_WAITS),
		{ .from_ns = 66 * ms,
		  .to_ns = 66 * ms,
		  .state = STATE_PYTHON | STATE_HOLDS_GIL,
		  .tid = B },
	};
	struct gil_waits w = { 0 };

	samples[1].period_ns = ms;
	assert_int_equal(count(&w, p, samples, 7), 0);
	assert_int_equal(w.hand_cnt, 1);
	assert_int_equal((int)w.hands[0].cnt, 4);
	assert_int_equal(find(&w, p, "b", "")->longest_ns, 6 * ms);
	gil_waits_free(&w);
	profile__free(p);
}

static void nothing_is_nothing(void **state)
{
	struct profile *p = new_profile();
	struct gil_waits w = { 0 };
	struct gil_sample zero[] = { lock_wait(A, 500, 500, A, 0) };

	assert_int_equal(count(&w, p, NULL, 0), 0);
	assert_int_equal(w.pair_cnt + w.thread_cnt + w.hand_cnt, 0);
	assert_int_equal(count(&w, p, zero, 1), 0);
	assert_int_equal((int)w.ns, 0);
	gil_waits_free(&w);
	profile__free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_wait_is_for_who_held_it),
		cmocka_unit_test(what_was_not_seen_is_nobodys),
		cmocka_unit_test(nothing_is_more_than_there_was),
		cmocka_unit_test(a_sampled_wait_counts_with_its_weight),
		cmocka_unit_test(a_wait_that_is_not_seen_is_a_hand_over),
		cmocka_unit_test(nothing_is_nothing),
	};

	return cmocka_run_group_tests_name("output/gil_waits", tests, NULL, NULL);
}
