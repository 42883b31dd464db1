/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_tick.c - a timer on a grid whose interrupts come late: what was due and never came is counted, to
 * the tick, whatever the delays.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdlib.h>
#include <linux/types.h>
#include <cmocka.h>

#include "abi.h"
#include "read.h"
#include "tick.h"

#define START 1000000000ULL

/* A timer as hrtimer_forward_now() keeps it: late by more than a period, it moves on. */
struct timer {
	__u64 next_ns, period_ns;
	__u64 skipped;
};

/* The next interrupt, late by so much; its time. */
static __u64 fire(struct timer *t, __u64 late_ns)
{
	__u64 now_ns = t->next_ns + late_ns, overrun = late_ns / t->period_ns;

	t->skipped += overrun;
	t->next_ns += (overrun + 1) * t->period_ns;
	return now_ns;
}

static void a_timer_that_is_on_time_misses_nothing(void **state)
{
	struct timer timer = { .next_ns = START, .period_ns = 100000 };
	struct tick tick = { 0 };

	for (int i = 0; i < 10000; i++)
		assert_int_equal(tick_missed(&tick, fire(&timer, 0), timer.period_ns), 0);
	assert_int_equal(tick.delivered, 10000);
	assert_int_equal(tick.missed, 0);
}

/* Up to a period less a nanosecond, the first one, too: the grid has to be found. */
static void lateness_alone_is_not_missed(void **state)
{
	unsigned seed = 1;

	for (int run = 0; run < 100; run++) {
		struct timer timer = { .next_ns = START, .period_ns = 20000 };
		struct tick tick = { 0 };

		for (int i = 0; i < 2000; i++)
			tick_missed(&tick, fire(&timer, (__u64)rand_r(&seed) % 20000),
				    timer.period_ns);
		assert_int_equal(tick.missed, 0);
	}
}

static void what_never_came_is_counted(void **state)
{
	unsigned seed = 7;

	for (int run = 0; run < 100; run++) {
		struct timer timer = { .next_ns = START, .period_ns = 20000 };
		struct tick tick = { 0 };
		__u64 counted = 0;

		/* The grid is known from the second tick on at the latest. */
		counted += tick_missed(&tick, fire(&timer, 0), timer.period_ns);
		for (int i = 0; i < 2000; i++) {
			__u64 late = (__u64)rand_r(&seed) % (rand_r(&seed) % 3 ? 20000 : 100000);

			counted += tick_missed(&tick, fire(&timer, late), timer.period_ns);
			/* The last one's lateness was a period or more: seen with the next tick. */
			assert_in_range(counted, timer.skipped > 5 ? timer.skipped - 5 : 0,
					timer.skipped + 5);
		}
		counted += tick_missed(&tick, fire(&timer, 0), timer.period_ns);
		assert_int_equal(counted, timer.skipped);
		assert_int_equal(tick.missed, counted);
		assert_int_equal(tick.delivered, 2002);
	}
}

/* perf stops a timer that it throttles and starts it again later, off the grid. */
static void a_new_grid_costs_one_tick_at_most(void **state)
{
	struct timer timer = { .next_ns = START, .period_ns = 20000 };
	struct tick tick = { 0 };
	unsigned seed = 3;

	for (int run = 1; run <= 50; run++) {
		__u64 before = tick.missed;

		for (int i = 0; i < 100; i++)
			tick_missed(&tick, fire(&timer, (__u64)rand_r(&seed) % 3000),
				    timer.period_ns);
		assert_in_range(tick.missed - before, run == 1 ? 0 : 9, run == 1 ? 0 : 12);
		timer.next_ns += 10 * timer.period_ns + (__u64)rand_r(&seed) % timer.period_ns;
	}
}

/* --jitter: the timer is started anew with another period, at any point of the one before. */
static void another_period_misses_nothing(void **state)
{
	struct timer timer = { .next_ns = START, .period_ns = 1000000 };
	struct tick tick = { 0 };
	unsigned seed = 4;

	for (int run = 0; run < 200; run++) {
		for (int i = 0; i < 50; i++)
			assert_int_equal(tick_missed(&tick,
						     fire(&timer, (__u64)rand_r(&seed) % 3000),
						     timer.period_ns),
					 0);
		timer.next_ns += (__u64)rand_r(&seed) % 1200000;
		timer.period_ns = 875000 + (__u64)rand_r(&seed) % 250000;
	}
}

static void no_period_is_shorter_than_the_kernels(void **state)
{
	struct timer timer = { .next_ns = START, .period_ns = TICK_NS_MIN };
	struct tick tick = { 0 };

	for (int i = 0; i < 100; i++)
		assert_int_equal(tick_missed(&tick, fire(&timer, 0), 1), 0);
	assert_int_equal(tick_missed(&tick, fire(&timer, 0), 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_timer_that_is_on_time_misses_nothing),
		cmocka_unit_test(lateness_alone_is_not_missed),
		cmocka_unit_test(what_never_came_is_counted),
		cmocka_unit_test(a_new_grid_costs_one_tick_at_most),
		cmocka_unit_test(another_period_misses_nothing),
		cmocka_unit_test(no_period_is_shorter_than_the_kernels),
	};

	return cmocka_run_group_tests_name("bpf/tick.h", tests, NULL, NULL);
}
