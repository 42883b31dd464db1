/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_gil_holds.c - whose the interpreter's lock was around sightings of it: up to the next sighting, never
 * into what a thread's own samples say of the time without the lock, and never two threads' at a time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "output/gil_holds.h"
#include "profile/states.h"

#define REACH 1000
#define A 11
#define B 12
#define W 19 /* who waits */

static struct gil_sample off(int tid, __u64 from, __u64 to, __u32 state)
{
	return (struct gil_sample){ .from_ns = from,
				    .to_ns = to,
				    .period_ns = to - from,
				    .node = (__u32)from,
				    .state = state,
				    .tid = tid,
				    .off = true };
}

static struct gil_sample tick(int tid, __u64 at, bool held)
{
	return (struct gil_sample){ .from_ns = at,
				    .to_ns = at,
				    .period_ns = REACH,
				    .node = (__u32)at,
				    .state = held ? STATE_PYTHON | STATE_HOLDS_GIL : STATE_NATIVE,
				    .tid = tid };
}

struct part {
	__u64 seen_ns, ns; /* when its holder was seen, and how long it held the lock in the wait */
};

/* The samples of each thread are together. */
static void check(const struct gil_sample *samples, size_t cnt, __u64 from, __u64 to,
		  const struct part *want, size_t want_cnt)
{
	const struct gil_sample wait = off(W, from, to, STATE_GIL);
	const struct gil_hold *h;
	struct gil_holds holds = { 0 };
	struct gil_share share;
	__u64 ns, sum_ns = 0;
	size_t found = 0;

	for (size_t first = 0, end = 0; first < cnt; first = end) {
		while (end < cnt && samples[end].tid == samples[first].tid)
			end++;
		assert_int_equal(gil_holds_add(&holds, samples + first, end - first), 0);
	}
	assert_int_equal(gil_holds_sort(&holds, REACH), 0);
	gil_share_begin(&share, &holds, &wait);
	while ((h = gil_share_next(&share, &ns))) {
		assert_true(found < want_cnt);
		assert_int_equal(h->from_ns, want[found].seen_ns);
		assert_int_equal(ns, want[found].ns);
		sum_ns += ns;
		found++;
	}
	assert_int_equal(found, want_cnt);
	assert_true(sum_ns <= to - from);
	gil_holds_free(&holds);
}

#define assert_parts(samples, from, to, ...)                                                       \
	do {                                                                                       \
		static const struct part want_[] = { __VA_ARGS__ };                                \
		check(samples, sizeof(samples) / sizeof((samples)[0]), from, to, want_,            \
		      sizeof(want_) / sizeof(want_[0]));                                           \
	} while (0)

static void a_sighting_reaches_to_the_next(void **state)
{
	const struct gil_sample one[] = { tick(A, 5000, true) };
	const struct gil_sample two[] = { tick(A, 5000, true), tick(B, 5600, true) };

	assert_parts(one, 4500, 5200, { 5000, 700 });
	assert_parts(one, 1000, 9000, { 5000, 2 * REACH });
	assert_parts(two, 4500, 6000, { 5000, 800 }, { 5600, 700 });
}

/* The lock may have been lost and taken again between them, in waits too short to be recorded. */
static void two_sightings_prove_no_turn(void **state)
{
	const struct gil_sample samples[] = { tick(A, 2000, true), tick(A, 50000, true) };

	assert_parts(samples, 10000, 40000);
	assert_parts(samples, 0, 60000, { 2000, 2 * REACH }, { 50000, 2 * REACH });
}

static void a_wait_bounds_it(void **state)
{
	/* a waits until 3000 and from 5000 on, and was seen between. */
	const struct gil_sample samples[] = { off(A, 0, 3000, STATE_GIL), tick(A, 3900, true),
					      tick(A, 4600, true), off(A, 5000, 9000, STATE_GIL) };
	/* b has it from 2800 on, and a has lost it at 2200: between the two nobody knows. */
	const struct gil_sample handed[] = { tick(A, 2100, true), off(A, 2200, 9000, STATE_GIL),
					     off(B, 0, 2800, STATE_GIL), tick(B, 3000, true) };
	/* It ran without the lock for part of the time between. */
	const struct gil_sample native[] = { tick(A, 1000, false), tick(A, 2000, true),
					     tick(A, 2400, false) };

	assert_parts(samples, 0, 9000, { 3900, 1250 }, { 4600, 750 });
	assert_parts(handed, 2000, 3500, { 2100, 200 }, { 3000, 700 });
	assert_parts(native, 0, 9000, { 2000, 700 });
}

/* Another thread's bound says that the lock was this one's for longer than half of the way. */
static void who_can_have_it_has_it(void **state)
{
	const struct gil_sample samples[] = { tick(A, 2000, true), off(B, 0, 2700, STATE_GIL),
					      tick(B, 2800, true) };

	assert_parts(samples, 1900, 3000, { 2000, 800 }, { 2800, 300 });
}

static void off_the_cpu_it_may_have_it(void **state)
{
	const struct gil_sample samples[] = { off(A, 3000, 9000,
						  STATE_RUNNABLE | STATE_HOLDS_GIL) };

	assert_parts(samples, 4000, 6000, { 3000, 2000 });
	assert_parts(samples, 0, 20000, { 3000, 6000 + 2 * REACH });
}

static void nobody_waits_for_itself(void **state)
{
	const struct gil_sample samples[] = { tick(A, 3000, true), tick(A, 3800, true),
					      tick(W, 3400, true) };

	assert_parts(samples, 2500, 4000, { 3000, 900 }, { 3800, 600 });
}

/* A file may say that two threads have it at once, or what no clock says. */
static void contradictions_add_up_to_the_wait(void **state)
{
	const struct gil_sample samples[] = {
		off(A, 1000, 8000, STATE_IO | STATE_HOLDS_GIL),
		off(A, 500, 900, STATE_GIL),
		tick(A, ~0ULL - 1, true),
		off(B, 2000, 9000, STATE_IO | STATE_HOLDS_GIL),
		off(B, 4000, 9500, STATE_GIL),
	};

	assert_parts(samples, 0, 10000, { 1000, 8000 }, { 2000, 1000 });
	assert_parts(samples, 2000, 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sighting_reaches_to_the_next),
		cmocka_unit_test(two_sightings_prove_no_turn),
		cmocka_unit_test(a_wait_bounds_it),
		cmocka_unit_test(who_can_have_it_has_it),
		cmocka_unit_test(off_the_cpu_it_may_have_it),
		cmocka_unit_test(nobody_waits_for_itself),
		cmocka_unit_test(contradictions_add_up_to_the_wait),
	};

	return cmocka_run_group_tests_name("output/gil_holds", tests, NULL, NULL);
}
