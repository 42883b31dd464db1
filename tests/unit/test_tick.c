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

#include "abi.h"
#include "read.h"
#include "tick.h"

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

/* A tick that hits a thread which has been on the CPU for on_ns; how many it missed before. */
static __u64 take(struct tick *tick, __u64 now_ns, __u64 period_ns, __u64 on_ns)
{
	__u64 points = tick_passes(tick, now_ns, period_ns);
	__u64 missed = points ? tick_missed(tick, points, now_ns, on_ns) : 0;

	tick->missed += missed;
	return missed;
}

/* The thread has always been there. */
#define ALWAYS (~0ULL)

static void a_timer_that_is_on_time_misses_nothing(void **state)
{
	struct timer timer = { .next_ns = START, .period_ns = 100000 };
	struct tick tick = { 0 };

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
		struct tick tick = { 0 };

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
		struct tick tick = { 0 };
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
	struct tick tick = { 0 };
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
	struct tick tick = { 0 };
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
	struct tick tick = { 0 };

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
	struct tick tick = { 0 };
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
			if (tick.grid_ns && rand_r(&seed) % 5 == 0) {
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
	struct tick tick = { 0 };
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
	struct tick tick = { 0 };

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

static void what_never_came_was_not_all_of_one_thread(void **state)
{
	assert_int_equal(tick_made_up(5000, 4000, 1000, 0), 1000);
	assert_int_equal(tick_made_up(9000, 4000, 1000, 4), 5000);
	assert_int_equal(tick_made_up(9000, 4000, 1000, 30), 5000);
	assert_int_equal(tick_made_up(4100, 4000, 1000, 30), 1000);
	assert_int_equal(tick_made_up(4000, 9000, 1000, 30), 1000);
}

#define PERIOD 1000000ULL

/*
 * A thread whose functions are hit by ticks more rarely, or more often, than their share of time,
 * and the result under --wall.
 */
struct simulated {
	__u64 on[2], found[2]; /* CPU time by function, and what its samples stand for */
	__u64 marked, total_on, sampled;
	__u64 worst; /* largest error of the sums */
};

/*
 * Simulates alternating pieces of work of these lengths: a tick hits a piece by chance, and is then
 * seen or not.
 */
static void simulate(struct simulated *s, unsigned pieces, const __u64 length_ns[2],
		     const unsigned seen_percent[2], unsigned *seed)
{
	for (unsigned k = 0; k < pieces; k++) {
		unsigned f = k & 1, times = seen_percent[f];
		__u64 off, length = length_ns[f], ticks = length / PERIOD;
		__u16 units;

		s->on[f] += length;
		s->total_on += length;
		ticks += (__u64)rand_r(seed) % PERIOD < length % PERIOD;
		for (; ticks; ticks--) {
			for (times = seen_percent[f]; times; times -= times < 100 ? times : 100) {
				__u64 ns;

				if (times < 100 && (unsigned)rand_r(seed) % 100 >= times)
					continue;
				ns = tick_eased(s->total_on, s->sampled, PERIOD, PERIOD);
				s->found[f] += ns;
				s->sampled += ns;
			}
		}
		/* Each wait that gets a stack carries the missing time. */
		if (k % 8 == 0) {
			units = tick_unsampled(s->total_on, s->sampled, PERIOD);
			s->marked += (__u64)units << UNSAMPLED_SHIFT;
			s->sampled += (__u64)units << UNSAMPLED_SHIFT;
		}
		off = s->sampled > s->total_on ? s->sampled - s->total_on :
						 s->total_on - s->sampled;
		s->worst = off > s->worst ? off : s->worst;
	}
}

static void assert_share(__u64 part, __u64 whole, double want, double room)
{
	double share = (double)part / (double)whole;

	if (share < want - room || share > want + room)
		fail_msg("%.4f instead of %.4f", share, want);
}

/*
 * Time that ticks miss is marked and belongs to no function; found time stays where it was found;
 * the sum is right.
 */
static void what_no_tick_finds_is_no_functions(void **state)
{
	static const struct {
		__u64 length_ns[2];
		unsigned seen_percent[2];
		double marked; /* of the thread's time */
	} cases[] = {
		{ { 71000, 29000 }, { 100, 75 }, 0.29 * 0.25 },
		{ { 71000, 29000 }, { 100, 0 }, 0.29 },
		{ { 500000, 500000 }, { 60, 60 }, 0.4 },
		{ { 40000, 60000 }, { 0, 0 }, 1 },
		{ { 3000000, 1000000 }, { 100, 90 }, 0.025 },
	};
	unsigned seed = 6;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct simulated s = { 0 };

		simulate(&s, 400000, cases[i].length_ns, cases[i].seen_percent, &seed);
		assert_share(s.marked, s.total_on, cases[i].marked, 0.012);
		for (int f = 0; f < 2; f++)
			assert_share(s.found[f], s.on[f], cases[i].seen_percent[f] / 100.0, 0.02);
		assert_in_range(s.worst, 0,
				tick_chance(s.total_on, PERIOD) + 8 * cases[i].length_ns[0] +
					8 * cases[i].length_ns[1]);
	}
}

/*
 * If ticks hit a thread in proportion, hardly anything is marked, and nothing if it works
 * continuously.
 */
static void chance_is_not_marked(void **state)
{
	static const struct {
		__u64 length_ns[2];
		double marked_most;
	} cases[] = {
		{ { PERIOD, PERIOD }, 0 },
		{ { 5 * PERIOD, 3 * PERIOD }, 0 },
		{ { 300000, 700000 }, 0.01 },
		{ { 20000, 30000 }, 0.02 },
	};
	static const unsigned seen[2] = { 100, 100 };
	unsigned seed = 7;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct simulated s = { 0 };

		for (int run = 0; run < 100; run++) {
			s.total_on = s.sampled = 0;
			simulate(&s,
				 (unsigned)(10000 * PERIOD * 2 /
					    (cases[i].length_ns[0] + cases[i].length_ns[1])) /
					 10,
				 cases[i].length_ns, seen, &seed);
		}
		assert_true((double)s.marked <= cases[i].marked_most * (double)(s.on[0] + s.on[1]));
		assert_share(s.found[0], s.on[0], 1, 0.02);
		assert_share(s.found[1], s.on[1], 1, 0.02);
		if (!cases[i].marked_most)
			assert_int_equal(s.found[0], s.on[0]);
	}
}

/* Functions that are hit too often get less weight, all by the same factor. */
static void what_is_found_too_often_counts_less(void **state)
{
	static const __u64 length_ns[2] = { 400000, 400000 };
	static const unsigned seen[2] = { 150, 150 };
	struct simulated s = { 0 };
	unsigned seed = 8;

	simulate(&s, 400000, length_ns, seen, &seed);
	assert_share(s.found[0] + s.found[1] + s.marked, s.total_on, 1, 0.01);
	assert_share(s.found[0], s.found[1], 1, 0.01);
	assert_share(s.marked, s.total_on, 0, 0.005);
}

/* A large amount: the rest comes with the next one. */
static void no_more_is_told_than_there_is_room_for(void **state)
{
	__u64 on = 100000 * PERIOD, sampled = 0;
	__u16 units, last = 1;

	for (int i = 0; i < 100 && last; i++) {
		units = tick_unsampled(on, sampled, PERIOD);
		last = units;
		sampled += (__u64)units << UNSAMPLED_SHIFT;
	}
	assert_int_equal(last, 0);
	assert_in_range(sampled, on - tick_chance(on, PERIOD), on);
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
		cmocka_unit_test(what_never_came_was_not_all_of_one_thread),
		cmocka_unit_test(what_no_tick_finds_is_no_functions),
		cmocka_unit_test(chance_is_not_marked),
		cmocka_unit_test(what_is_found_too_often_counts_less),
		cmocka_unit_test(no_more_is_told_than_there_is_room_for),
	};

	return cmocka_run_group_tests_name("bpf/tick.h", tests, NULL, NULL);
}
