/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_tick_shares.c - what the ticks that found a thread stand for: together with the mark for what
 * no tick found, all of its time, and each function's part of it.
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
#include "bpf/wait/tick.h"

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

/* ---- groups: what was counted between two ticks ------------------------------------------------ */

static void what_was_counted_is_the_tick_s_process_s(void **state)
{
	struct member_count m = { 0 };

	member_count_add(&m, 100, 7);
	assert_int_equal(m.more, 100);
	/* No sample came of that tick. */
	member_count_add(&m, 150, 7);
	assert_int_equal(m.more, 150);
	member_count_add(&m, 170, 8);
	assert_int_equal(m.more, 20);
	member_count_add(&m, 200, 0);
	assert_int_equal(m.more, 0);
	member_count_add(&m, 210, 8);
	assert_int_equal(m.more, 10);
}

static void a_cpu_that_comes_back_counts_from_0(void **state)
{
	struct member_count m = { .read = 1000000, .pid = 7 };

	member_count_add(&m, 40, 7);
	assert_int_equal(m.more, 40);
	member_count_add(&m, 50, 7);
	assert_int_equal(m.more, 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_never_came_was_not_all_of_one_thread),
		cmocka_unit_test(what_no_tick_finds_is_no_functions),
		cmocka_unit_test(chance_is_not_marked),
		cmocka_unit_test(what_is_found_too_often_counts_less),
		cmocka_unit_test(no_more_is_told_than_there_is_room_for),
		cmocka_unit_test(what_was_counted_is_the_tick_s_process_s),
		cmocka_unit_test(a_cpu_that_comes_back_counts_from_0),
	};

	return cmocka_run_group_tests_name("bpf/wait/tick.h", tests, NULL, NULL);
}
