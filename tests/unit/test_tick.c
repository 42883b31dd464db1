/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_tick.c - a periodic timer whose interrupts are delayed, or never come: the ticks that a thread
 * missed are counted exactly, whatever the delays, and those due before it ran are not.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdlib.h>
#include <linux/types.h>
#include <cmocka.h>

#include "bpf/abi.h"
#include "bpf/read.h"
#include "bpf/wait/tick.h"

#define START 1000000000ULL

/* A timer as hrtimer_forward_now() runs it: if it is late by more than a period, it skips ahead. */
struct timer {
	__u64 next_ns, period_ns;
	__u64 skipped;
};

/* Returns the time of the next interrupt, delayed by late_ns. */
static __u64 fire(struct timer *t, __u64 late_ns)
{
	__u64 now_ns = t->next_ns + late_ns, overrun = late_ns / t->period_ns;

	t->skipped += overrun;
	t->next_ns += (overrun + 1) * t->period_ns;
	return now_ns;
}

/* A timer's grid as the kernel side knows it, and the ticks that it has counted. */
struct noted {
	struct tick tick;
	__u64 missed;
};

/* A tick that hits a thread which has been on the CPU for on_ns; how many it missed before. */
static __u64 take(struct noted *noted, __u64 now_ns, __u64 period_ns, __u64 on_ns)
{
	__u64 points = tick_passes(&noted->tick, now_ns, period_ns, 0);
	__u64 missed = points ? tick_missed(&noted->tick, points, now_ns, on_ns) : 0;

	noted->missed += missed;
	return missed;
}

/* The thread has always been there. */
#define ALWAYS (~0ULL)

static void a_timer_that_is_on_time_misses_nothing(void **state)
{
	struct timer timer = { .next_ns = START, .period_ns = 100000 };
	struct noted tick = { 0 };

	for (int i = 0; i < 10000; i++)
		assert_int_equal(take(&tick, fire(&timer, 0), timer.period_ns, ALWAYS), 0);
	assert_int_equal(tick.missed, 0);
}

/* Delays up to a period less a nanosecond, even for the first tick: the grid has to be found. */
static void lateness_alone_is_not_missed(void **state)
{
	unsigned seed = 1;

	for (int run = 0; run < 100; run++) {
		struct timer timer = { .next_ns = START, .period_ns = 20000 };
		struct noted tick = { 0 };

		for (int i = 0; i < 2000; i++)
			take(&tick, fire(&timer, (__u64)rand_r(&seed) % 20000), timer.period_ns,
			     ALWAYS);
		assert_int_equal(tick.missed, 0);
	}
}

static void what_never_came_is_counted(void **state)
{
	unsigned seed = 7;

	for (int run = 0; run < 100; run++) {
		struct timer timer = { .next_ns = START, .period_ns = 20000 };
		struct noted tick = { 0 };
		__u64 counted = 0;

		/* The grid is known from the second tick on at the latest. */
		counted += take(&tick, fire(&timer, 0), timer.period_ns, ALWAYS);
		for (int i = 0; i < 2000; i++) {
			__u64 late = (__u64)rand_r(&seed) % (rand_r(&seed) % 3 ? 20000 : 100000);

			counted += take(&tick, fire(&timer, late), timer.period_ns, ALWAYS);
			/*
			 * A delay of the last tick by a period or more is noticed only with the
			 * next.
			 */
			assert_in_range(counted, timer.skipped > 5 ? timer.skipped - 5 : 0,
					timer.skipped + 5);
		}
		counted += take(&tick, fire(&timer, 0), timer.period_ns, ALWAYS);
		assert_int_equal(counted, timer.skipped);
		assert_int_equal(tick.missed, counted);
	}
}

/* perf stops a throttled timer and restarts it later, off the grid. */
static void a_new_grid_costs_one_tick_at_most(void **state)
{
	struct timer timer = { .next_ns = START, .period_ns = 20000 };
	struct noted tick = { 0 };
	unsigned seed = 3;

	for (int run = 1; run <= 50; run++) {
		__u64 before = tick.missed;

		for (int i = 0; i < 100; i++)
			take(&tick, fire(&timer, (__u64)rand_r(&seed) % 3000), timer.period_ns,
			     ALWAYS);
		assert_in_range(tick.missed - before, run == 1 ? 0 : 9, run == 1 ? 0 : 12);
		timer.next_ns += 10 * timer.period_ns + (__u64)rand_r(&seed) % timer.period_ns;
	}
}

/* --jitter: the timer is restarted with another period at any point of the previous one. */
static void another_period_misses_nothing(void **state)
{
	struct timer timer = { .next_ns = START, .period_ns = 1000000 };
	struct noted tick = { 0 };
	unsigned seed = 4;

	for (int run = 0; run < 200; run++) {
		for (int i = 0; i < 50; i++)
			assert_int_equal(take(&tick, fire(&timer, (__u64)rand_r(&seed) % 3000),
					      timer.period_ns, ALWAYS),
					 0);
		timer.next_ns += (__u64)rand_r(&seed) % 1200000;
		timer.period_ns = 875000 + (__u64)rand_r(&seed) % 250000;
	}
}

static void no_period_is_shorter_than_the_kernels(void **state)
{
	struct timer timer = { .next_ns = START, .period_ns = TICK_NS_MIN };
	struct noted tick = { 0 };

	for (int i = 0; i < 100; i++)
		assert_int_equal(take(&tick, fire(&timer, 0), 1, ALWAYS), 0);
	assert_int_equal(take(&tick, fire(&timer, 0), 0, ALWAYS), 0);
}

/*
 * Threads of ours, others and nobody take turns on a CPU, for anything from a tenth of a period to 40. Ticks that hit others
 * and an idle CPU are not noted, and of ours one in five is not handed on. Each that is says how many its thread has missed
 * since the last one, or since it came.
 */
static void what_was_due_before_a_thread_came_is_not_its(void **state)
{
	const __u64 period = 100000;
	struct noted tick = { 0 };
	__u64 point = START, came = START, want = 0;
	unsigned seed = 11, noted = 0, all = 0;

	for (int turn = 0; turn < 100000; turn++) {
		__u64 leaves = came + period / 10 + (__u64)rand_r(&seed) % (40 * period);
		bool is_ours = rand_r(&seed) % 3 == 0;
		unsigned gone = 0;

		for (; point < leaves; point += period) {
			all++;
			if (!is_ours)
				continue;
			if (tick.tick.grid_ns && rand_r(&seed) % 5 == 0) {
				/* A point at the moment of the switch is as good as before it. */
				gone += point > came;
				continue;
			}
			assert_int_equal(take(&tick, point, period, point - came), gone);
			want += gone;
			gone = 0;
			noted++;
		}
		came = leaves;
	}
	assert_int_equal(tick.missed, want);
	assert_in_range(want, noted / 5, noted / 3);
	/* Most were due while others ran. */
	assert_true(all > 2 * (noted + want));
}

/* The interrupt is late by less than a period, and the thread came meanwhile: then the tick is its first, and it missed none. */
static void a_late_tick_misses_nothing_for_who_came_meanwhile(void **state)
{
	struct timer timer = { .next_ns = START, .period_ns = 100000 };
	struct noted tick = { 0 };
	unsigned seed = 12;

	take(&tick, fire(&timer, 0), timer.period_ns, ALWAYS);
	for (int i = 0; i < 10000; i++) {
		__u64 late = (__u64)rand_r(&seed) % 100000;

		timer.next_ns += (__u64)rand_r(&seed) % 1000 * timer.period_ns;
		assert_int_equal(take(&tick, fire(&timer, late), timer.period_ns,
				      late ? (__u64)rand_r(&seed) % late : 0),
				 0);
	}
}

/* Nobody knows better: whoever came later than now has been there for no time. */
static void a_thread_without_a_past_misses_nothing(void **state)
{
	struct timer timer = { .next_ns = START, .period_ns = 100000 };
	struct noted tick = { 0 };

	take(&tick, fire(&timer, 0), timer.period_ns, 0);
	timer.next_ns += 1000 * timer.period_ns;
	assert_int_equal(take(&tick, fire(&timer, 0), timer.period_ns, 0), 0);
	timer.next_ns += 1000 * timer.period_ns;
	assert_int_equal(take(&tick, fire(&timer, 0), timer.period_ns, ALWAYS), 1000);
}

/*
 * Threads take turns, and ticks hit the CPU before a switch whose clock is current, or as old as a
 * wake-up.
 */
static void each_tick_is_of_who_pays_for_its_time(void **state)
{
	__u32 want[4] = { 0 }, got[4] = { 0 }, on = 1, clock = 1000;
	struct tick_notes notes = { 0 };
	unsigned seed = 5;

	for (int i = 0; i < 100000; i++) {
		__u32 next = (__u32)rand_r(&seed) % 4, before = 0, behind = 0, leaves, comes;
		bool skips = rand_r(&seed) % 2;

		/* Wake-ups, each of which updates the clock, with ticks after each. */
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

/* The switch of the interrupted thread was not reported. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_timer_that_is_on_time_misses_nothing),
		cmocka_unit_test(lateness_alone_is_not_missed),
		cmocka_unit_test(what_never_came_is_counted),
		cmocka_unit_test(a_new_grid_costs_one_tick_at_most),
		cmocka_unit_test(another_period_misses_nothing),
		cmocka_unit_test(no_period_is_shorter_than_the_kernels),
		cmocka_unit_test(what_was_due_before_a_thread_came_is_not_its),
		cmocka_unit_test(a_late_tick_misses_nothing_for_who_came_meanwhile),
		cmocka_unit_test(a_thread_without_a_past_misses_nothing),
		cmocka_unit_test(each_tick_is_of_who_pays_for_its_time),
		cmocka_unit_test(who_has_gone_unseen_leaves_nothing),
	};

	return cmocka_run_group_tests_name("bpf/wait/tick.h", tests, NULL, NULL);
}
