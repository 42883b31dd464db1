/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_gil_holds.c - when a thread had the interpreter's lock: between its waits for it, around its
 * samples, and not where samples say otherwise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "emit/gil_holds.h"
#include "profile/states.h"

#define TID 7

static struct gil_sample wait_for_lock(__u64 from, __u64 to, __u32 node, __u32 flags)
{
	return (struct gil_sample){ .from_ns = from,
				    .to_ns = to,
				    .period_ns = to - from,
				    .node = node,
				    .state = STATE_GIL | flags,
				    .tid = TID,
				    .off = true };
}

static struct gil_sample off(__u64 from, __u64 to, __u32 node, __u32 state)
{
	struct gil_sample s = wait_for_lock(from, to, node, 0);

	s.state = state;
	return s;
}

static struct gil_sample tick(__u64 at, __u32 node, bool held)
{
	return (struct gil_sample){ .from_ns = at,
				    .to_ns = at,
				    .period_ns = 100,
				    .node = node,
				    .state = held ? STATE_PYTHON | STATE_HOLDS_GIL : STATE_NATIVE,
				    .tid = TID };
}

#define assert_holds(samples, ...)                                                                 \
	do {                                                                                       \
		static const struct gil_hold want_[] = { __VA_ARGS__ };                            \
		check(samples, sizeof(samples) / sizeof((samples)[0]), want_,                      \
		      sizeof(want_) / sizeof(want_[0]));                                           \
	} while (0)

static void check(const struct gil_sample *samples, size_t cnt, const struct gil_hold *want,
		  size_t want_cnt)
{
	struct gil_holds h = { 0 };

	assert_int_equal(gil_holds_add(&h, samples, cnt, 1), 0);
	assert_int_equal(h.cnt, want_cnt);
	for (size_t i = 0; i < want_cnt; i++) {
		assert_int_equal(h.list[i].from_ns, want[i].from_ns);
		assert_int_equal(h.list[i].to_ns, want[i].to_ns);
		assert_int_equal(h.list[i].node, want[i].node);
		assert_int_equal(h.list[i].tid, TID);
	}
	free(h.list);
}

static void between_two_waits_it_has_the_lock(void **state)
{
	const struct gil_sample none[] = { wait_for_lock(0, 1000, 1, 0),
					   wait_for_lock(6000, 9000, 2, 0) };
	const struct gil_sample some[] = { wait_for_lock(0, 1000, 1, 0), tick(2000, 3, true),
					   tick(4000, 4, true), wait_for_lock(6000, 9000, 2, 0) };

	/* The place where it lost the lock stands for the hold, unless samples know more. */
	assert_holds(none, { 1000, 6000, 2, TID });
	assert_holds(some, { 1000, 3000, 3, TID }, { 3000, 6000, 4, TID });
}

static void a_wait_that_goes_on_is_no_turn(void **state)
{
	const struct gil_sample samples[] = { wait_for_lock(0, 5000, 1, STATE_STILL_WAITS),
					      wait_for_lock(5100, 7000, 1, 0),
					      off(7000, 7500, 1, STATE_RUNNABLE),
					      wait_for_lock(9000, 9100, 2, 0) };

	/* Woken and then ready to run: it does not hold the lock yet. */
	assert_holds(samples, { 7500, 9000, 2, TID });
}

static void what_speaks_against_it_ends_it(void **state)
{
	const struct gil_sample native[] = { wait_for_lock(0, 1000, 1, 0), tick(2000, 3, true),
					     tick(3000, 4, false),
					     wait_for_lock(6000, 9000, 2, 0) };
	const struct gil_sample io[] = { wait_for_lock(0, 1000, 1, 0), tick(2000, 3, true),
					 off(2020, 4000, 4, STATE_IO),
					 wait_for_lock(6000, 9000, 2, 0) };

	assert_holds(native, { 1000, 2050, 3, TID });
	assert_holds(io, { 1000, 2020, 3, TID });
}

static void one_sample_stands_for_its_period(void **state)
{
	const struct gil_sample samples[] = { tick(1000, 1, false), tick(2000, 2, true),
					      tick(3000, 1, false) };

	assert_holds(samples, { 1950, 2050, 2, TID });
}

static void off_the_cpu_it_may_have_it(void **state)
{
	const struct gil_sample samples[] = { wait_for_lock(0, 1000, 1, 0),
					      off(2000, 5000, 3, STATE_RUNNABLE | STATE_HOLDS_GIL),
					      wait_for_lock(6000, 9000, 2, 0) };

	assert_holds(samples, { 1000, 6000, 3, TID });
}

static void times_out_of_order_are_no_holds(void **state)
{
	const struct gil_sample samples[] = { wait_for_lock(0, 5000, 1, 0),
					      wait_for_lock(3000, 6000, 2, 0),
					      tick(~0ULL, 3, true) };
	struct gil_holds h = { 0 };

	assert_int_equal(gil_holds_add(&h, samples, 3, 1), 0);
	for (size_t i = 0; i < h.cnt; i++)
		assert_true(h.list[i].from_ns < h.list[i].to_ns);
	free(h.list);
	assert_int_equal(gil_holds_add(&h, samples, 0, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(between_two_waits_it_has_the_lock),
		cmocka_unit_test(a_wait_that_goes_on_is_no_turn),
		cmocka_unit_test(what_speaks_against_it_ends_it),
		cmocka_unit_test(one_sample_stands_for_its_period),
		cmocka_unit_test(off_the_cpu_it_may_have_it),
		cmocka_unit_test(times_out_of_order_are_no_holds),
	};

	return cmocka_run_group_tests_name("emit/gil_holds", tests, NULL, NULL);
}
