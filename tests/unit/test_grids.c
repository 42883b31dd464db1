/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_grids.c - a clock's timers on one CPU: whatever a program's rhythm, ticks
 * find nearly all of its CPU time, and however long a sample takes, the program gets on.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdlib.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <cmocka.h>

#include "bpf/abi.h"
#include "bpf/read.h"
#include "bpf/wait/tick.h"
#include "base/system/clock.h"
#include "base/system/event.h"
#include "base/system/grids.h"

/* The kernel may end a sleep that much later, with another timer's interrupt (timer slack). */
#define SLACK_NS 50000

/* What follows the rates of timers does so that often. */
#define UPKEEP_NS 250000000

struct timers {
	__u64 next_ns[KRAIT_MAX_GRIDS];
	struct grid grids[KRAIT_MAX_GRIDS];
	unsigned cnt, range; /* range 0: they keep their rates */
	__u64 period; /* between two ticks, on average */
	__u64 upkeep_ns;
	unsigned seed;
};

static struct event_spec clock_of(__u64 frequency)
{
	return (struct event_spec){ .type = PERF_TYPE_SOFTWARE,
				    .config = PERF_COUNT_SW_CPU_CLOCK,
				    .frequency = frequency };
}

static struct timers timers_of(__u64 frequency, unsigned cnt, unsigned range)
{
	struct timers t = { .cnt = cnt,
			    .range = range,
			    .period = NS_PER_SEC / frequency,
			    .upkeep_ns = NS_PER_SEC + UPKEEP_NS,
			    .seed = 5 };

	for (unsigned i = 0; i < cnt; i++) {
		t.grids[i].mean_ns = t.grids[i].period_ns = grids_period_ns(t.period, cnt, i);
		t.grids[i].started_ns = NS_PER_SEC + i * 20000;
		t.next_ns[i] = t.grids[i].started_ns + t.grids[i].period_ns;
	}
	return t;
}

/* As perf_events__wander(). */
static void wander(struct timers *t, __u64 now_ns)
{
	for (unsigned i = 0; i < t->cnt && t->range; i++) {
		struct grid *g = &t->grids[i];

		if (!grid_is_due(g, now_ns, t->range))
			continue;
		grid_change(g, now_ns,
			    grid_next_ns(g, now_ns, t->range, (__u32)rand_r(&t->seed) * 2));
		t->next_ns[i] = now_ns + g->period_ns;
	}
	t->upkeep_ns = now_ns + UPKEEP_NS;
}

static unsigned first_of(const struct timers *t)
{
	unsigned first = 0;

	for (unsigned i = 1; i < t->cnt; i++)
		first = t->next_ns[i] < t->next_ns[first] ? i : first;
	return first;
}

/* Ticks until that time. If the thread sleeps, the first tick at due_ns or later ends that. */
static unsigned tick_until(struct timers *t, __u64 until_ns, __u64 due_ns, __u64 *ret_ns)
{
	unsigned cnt = 0;

	*ret_ns = until_ns;
	for (;;) {
		unsigned i = first_of(t);
		__u64 at_ns = t->next_ns[i];

		if (t->upkeep_ns < at_ns && t->upkeep_ns < until_ns) {
			wander(t, t->upkeep_ns);
			continue;
		}
		if (at_ns >= until_ns)
			return cnt;
		t->next_ns[i] += t->grids[i].period_ns;
		cnt++;
		if (at_ns >= due_ns) {
			*ret_ns = at_ns;
			return cnt;
		}
	}
}

/* A thread sleeps and works by turns for twenty seconds. Returns samples' time over its CPU time. */
static double found(struct timers t, __u64 sleep_ns, __u64 work_ns)
{
	__u64 now_ns = NS_PER_SEC, end_ns = 21 * NS_PER_SEC, worked_ns = 0, samples = 0;
	unsigned seed = 1;

	while (now_ns < end_ns) {
		__u64 due_ns = now_ns + sleep_ns + (__u64)rand_r(&seed) % 2000;

		tick_until(&t, due_ns + SLACK_NS, due_ns, &now_ns);
		samples += tick_until(&t, now_ns + work_ns, ~0ULL, &now_ns);
		worked_ns += work_ns;
	}
	return (double)(samples * t.period) / (double)worked_ns;
}

static const __u64 rates[] = { 19, 49, 99, 250, 997, 1999, 4999, 9973, 19997 };
#define RATES (sizeof(rates) / sizeof(rates[0]))

struct extremes {
	double least, most;
};

/* The share of the CPU time that ticks find, over many rhythms. */
static struct extremes extremes_of(__u64 rate, bool one)
{
	const struct event_spec clock = clock_of(rate);
	struct extremes e = { 2, 0 };

	for (__u64 work_us = 40; work_us <= 100; work_us += 60) {
		for (__u64 sleep_us = 300; sleep_us < 1300; sleep_us += 23) {
			double share = found(timers_of(rate, one ? 1 : grids_of(&clock),
						       one ? 0 : GRIDS_WANDER),
					     sleep_us * 1000, work_us * 1000);

			e.least = share < e.least ? share : e.least;
			e.most = share > e.most ? share : e.most;
		}
	}
	return e;
}

static void nothing_keeps_in_step_with_a_clock(void **state)
{
	static const __u64 some[] = { 997, 4999, 9973 };

	for (unsigned i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		struct extremes many = extremes_of(some[i], false),
				one = extremes_of(some[i], true);

		print_message("%llu Hz: %.2f to %.2f, a single timer %.2f to %.2f\n", some[i],
			      many.least, many.most, one.least, one.most);
		assert_true(many.least > 0.7 && many.most < 1.6);
		assert_true(one.least < 0.2 && one.most > 1.5);
	}
}

static void the_timers_of_a_clock_differ(void **state)
{
	for (unsigned r = 0; r < RATES; r++) {
		const struct event_spec clock = clock_of(rates[r]);
		const struct timers t = timers_of(rates[r], grids_of(&clock), GRIDS_WANDER);
		double sum = 0;

		assert_in_range(t.cnt, 2, KRAIT_MAX_GRIDS);
		for (unsigned i = 0; i < t.cnt; i++) {
			const __u64 ns = t.grids[i].mean_ns;

			assert_int_equal(ns & KRAIT_GRID_MASK, i);
			assert_true(ns + t.period / 2 <= grids_gap_ns(t.period));
			sum += (double)NS_PER_SEC / (double)ns;
		}
		assert_true(sum > 0.9999 * (double)rates[r] && sum < 1.0001 * (double)rates[r]);
	}
}

/* However rates wander, and however late they are changed, their sum is the configured rate. */
static void together_they_have_the_clocks_rate(void **state)
{
	static const unsigned ranges[] = { GRIDS_WANDER, GRIDS_JITTER };

	for (unsigned r = 0; r < RATES * 2; r++) {
		const __u64 rate = rates[r / 2], secs = 40 + 40000 / rate;
		const struct event_spec clock = clock_of(rate);
		struct timers t = timers_of(rate, grids_of(&clock), ranges[r % 2]);
		__u64 now_ns = NS_PER_SEC;
		long cnt = 0, want = (long)(rate * secs);

		while (now_ns < (1 + secs) * NS_PER_SEC) {
			cnt += tick_until(&t, now_ns + NS_PER_SEC / 10, ~0ULL, &now_ns);
			if (rand_r(&t.seed) % 40 == 0) /* krait itself has no turn */
				t.upkeep_ns += NS_PER_SEC;
		}
		assert_in_range(cnt, want - 8 - want / 300, want + 8 + want / 300);
	}
}

static void only_a_clock_with_a_rate_is_divided(void **state)
{
	struct event_spec e = clock_of(0);

	e.period = 1000000;
	assert_int_equal(grids_of(&e), 1);
	assert_int_equal(grids_period_ns(1003009, 1, 0), 1003009);
	e = clock_of(50000);
	assert_int_equal(grids_of(&e), 1);
	e = clock_of(997);
	e.type = PERF_TYPE_HARDWARE;
	assert_int_equal(grids_of(&e), 1);
}

/* Handles all ticks that are due, as the kernel does, one after the other. */
static void handle_due(struct timers *t, struct ticks *ticks, __u64 *now_ns, __u64 cost_ns)
{
	for (unsigned i; t->next_ns[i = first_of(t)] <= *now_ns;) {
		struct tick *tick = &ticks->grids[i];

		tick_passes(tick, *now_ns, t->grids[i].period_ns,
			    t->grids[i].period_ns / TICK_EARLY);
		while (t->next_ns[i] <= *now_ns)
			t->next_ns[i] += t->grids[i].period_ns;
		if (tick_crowds(ticks, tick, *now_ns, t->period)) {
			*now_ns += 500;
			continue;
		}
		*now_ns += cost_ns;
		ticks->done_ns = *now_ns;
	}
}

/* The share of its time that a thread which never sleeps has for itself. */
static double own_share(__u64 rate, __u64 cost_ns)
{
	const struct event_spec clock = clock_of(rate);
	struct timers t = timers_of(rate, grids_of(&clock), 0);
	struct ticks ticks = { 0 };
	__u64 now_ns = NS_PER_SEC, own_ns = 0;

	while (now_ns < 2 * NS_PER_SEC) {
		__u64 next_ns = t.next_ns[first_of(&t)];

		if (next_ns > now_ns) {
			own_ns += next_ns - now_ns;
			now_ns = next_ns;
		}
		handle_due(&t, &ticks, &now_ns, cost_ns);
	}
	return (double)own_ns / (double)NS_PER_SEC;
}

static void a_thread_gets_on_however_long_samples_take(void **state)
{
	assert_true(own_share(997, 10000) > 0.98);
	assert_true(own_share(9973, 10000) > 0.88);
	assert_true(own_share(9973, 150000) > 0.15);
	assert_true(own_share(9973, 400000) > 0.02);
	assert_true(own_share(19997, 100000) > 0.1);
	assert_true(own_share(4999, 300000) > 0.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_keeps_in_step_with_a_clock),
		cmocka_unit_test(the_timers_of_a_clock_differ),
		cmocka_unit_test(together_they_have_the_clocks_rate),
		cmocka_unit_test(only_a_clock_with_a_rate_is_divided),
		cmocka_unit_test(a_thread_gets_on_however_long_samples_take),
	};

	return cmocka_run_group_tests_name("base/system/grids", tests, NULL, NULL);
}
