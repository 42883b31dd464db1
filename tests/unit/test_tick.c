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

/* Threads take turns, and ticks hit the CPU before a switch whose clock is new, or as old as a wake-up. */
static void each_tick_is_of_who_pays_for_its_time(void **state)
{
	__u32 want[4] = { 0 }, got[4] = { 0 }, on = 1, clock = 1000;
	struct tick_notes notes = { 0 };
	unsigned seed = 5;

	for (int i = 0; i < 100000; i++) {
		__u32 next = (__u32)rand_r(&seed) % 4, before = 0, behind = 0, leaves, comes;
		bool skips = rand_r(&seed) % 2;

		/* Wake-ups, each of which brings the clock up to date, and ticks behind each. */
		for (int wakes = rand_r(&seed) % 3; wakes > 0; wakes--) {
			before += behind;
			clock++;
			behind = (__u32)rand_r(&seed) % 3;
			for (__u32 k = 0; k < behind; k++)
				tick_note(&notes, clock, on, 1);
		}
		if (!skips)
			clock++;
		want[on] += before + (skips ? 0 : behind);
		want[next] += skips ? behind : 0;
		tick_settle(&notes, clock, on, &leaves, &comes);
		got[on] += leaves;
		got[next] += comes;
		on = next;
		clock += 10;
	}
	assert_memory_equal(want, got, sizeof(want));
	assert_true(want[0] > 1000);
}

/* The switch of the one that was hit was not reported. */
static void who_has_gone_unseen_leaves_nothing(void **state)
{
	struct tick_notes notes = { 0 };
	__u32 leaves, comes;

	tick_note(&notes, 100, 7, 2);
	tick_settle(&notes, 200, 8, &leaves, &comes);
	assert_int_equal(leaves + comes, 0);
	tick_note(&notes, 300, 7, 2);
	tick_note(&notes, 300, 9, 3);
	tick_settle(&notes, 300, 9, &leaves, &comes);
	assert_int_equal(leaves, 0);
	assert_int_equal(comes, 3);
	tick_settle(&notes, 300, 9, &leaves, &comes);
	assert_int_equal(leaves + comes, 0);
}

static void what_never_came_was_not_all_of_one_thread(void **state)
{
	assert_int_equal(tick_made_up(5000, 4000, 1000, 0), 1000);
	assert_int_equal(tick_made_up(9000, 4000, 1000, 4), 5000);
	assert_int_equal(tick_made_up(9000, 4000, 1000, 30), 5000);
	assert_int_equal(tick_made_up(4100, 4000, 1000, 30), 1000);
	assert_int_equal(tick_made_up(4000, 9000, 1000, 30), 1000);
}

/* Ticks that find a thread too rarely, or too often: its samples have its time all the same, soon. */
static void samples_have_all_the_time(void **state)
{
	static const struct {
		unsigned found_percent;
		__u64 lag_periods;
	} cases[] = { { 100, 3 }, { 50, 40 }, { 40, 80 }, { 90, 12 }, { 150, 14 } };
	const __u64 period = 1000000;
	unsigned seed = 6;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		__u64 on = 0, sampled = 0, least = ~0ULL, most = 0;
		__u64 lag = cases[i].lag_periods * period;

		for (int k = 0; k < 100000; k++) {
			__u64 ns;

			on += period;
			for (unsigned found = cases[i].found_percent; found;
			     found -= found < 100 ? found : 100) {
				if (found < 100 && (unsigned)rand_r(&seed) % 100 >= found)
					continue;
				ns = tick_steered(on, sampled, period);
				least = ns < least ? ns : least;
				most = ns > most ? ns : most;
				sampled += ns;
			}
			assert_in_range(sampled + lag - on, 0, 2 * lag);
		}
		assert_in_range(least, period / 2, period);
		assert_in_range(most, cases[i].found_percent > 100 ? 1 : period, 4 * period);
		if (cases[i].found_percent == 100)
			assert_true(least == period && most == period);
	}
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
		cmocka_unit_test(each_tick_is_of_who_pays_for_its_time),
		cmocka_unit_test(who_has_gone_unseen_leaves_nothing),
		cmocka_unit_test(what_never_came_was_not_all_of_one_thread),
		cmocka_unit_test(samples_have_all_the_time),
	};

	return cmocka_run_group_tests_name("bpf/tick.h", tests, NULL, NULL);
}
