/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_switch.c - the sampled short waits are right on average, for each waiting function and any
 * period; and the cost of stacks stays within the budget.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>
#include <cmocka.h>

#include "support_fake_random.h"
#include "bpf/wait/switch.h"

#define WAITS 2000000
#define KINDS 4

static __u64 random_64(struct rng *rng)
{
	return (__u64)rng_below(rng, 1U << 31) << 33 ^ (__u64)rng_below(rng, 1U << 31) << 11 ^
	       rng_below(rng, 1U << 11);
}

/* As in the program. */
static __u64 period_of(struct switch_point *p, __u64 length_ns, __u32 shift, __u64 *state)
{
	if (!switch_falls_between(p->left, length_ns, shift))
		return switch_period(p, length_ns, shift, switch_chance(state));
	p->left -= length_ns;
	return 0;
}

/* Kinds of waits that differ by a factor of a thousand, in a rhythm, while the period changes. */
static void each_kind_of_wait_has_its_own_sum(void **state)
{
	static const __u64 lengths[KINDS] = { 700, 8000, 90000, 800000 };
	struct rng rng = rng_from_environment();
	__u64 told[KINDS] = { 0 }, truth[KINDS] = { 0 }, stacks = 0;
	double variance[KINDS] = { 0 };
	struct switch_point point = { 0 };
	__u64 chance = random_64(&rng);

	for (int i = 0; i < WAITS; i++) {
		int kind = i % 64 == 0 ? 3 : i % 16 == 0 ? 2 : i % 2;
		__u32 shift = 18 + (__u32)i / 1000 % 7;
		__u64 length = lengths[kind] + rng_below(&rng, 100), period = 1ULL << shift;
		__u64 sum = period_of(&point, length, shift, &chance);

		told[kind] += sum;
		truth[kind] += length;
		if (length >= period) {
			assert_int_equal(sum, length);
			continue;
		}
		stacks += sum > 0;
		/* A sampling point falls into it with the probability length / period. */
		variance[kind] += (double)length * (double)period;
	}
	for (int kind = 0; kind < KINDS; kind++) {
		double error = (double)told[kind] - (double)truth[kind];

		assert_true(error * error <= 25 * variance[kind]);
		/* This is meaningful only if chance is small. */
		assert_true(25 * variance[kind] < (double)truth[kind] * (double)truth[kind] / 4);
	}
	assert_true(stacks < WAITS / 20);
}

/* However short and numerous the waits are, their sum is right to within a period. */
static void a_thread_is_right_to_a_period(void **state)
{
	struct rng rng = rng_from_environment();
	struct switch_point point = { 0 };
	__u64 truth = 0, told = 0, chance = random_64(&rng);

	switch_next_point(&point, SWITCH_PERIOD_SHIFT, (__u32)random_64(&rng));
	for (int i = 0; i < WAITS; i++) {
		__u64 length = rng_below(&rng, i % 3 ? 1U << 20 : 1U << 10);

		truth += length;
		told += period_of(&point, length, SWITCH_PERIOD_SHIFT, &chance);
		assert_true(told + (1 << 20) >= truth && told <= truth + (1 << 20));
	}
}

/*
 * A thread that moves arbitrarily between CPUs with different periods is right to within the
 * longest of them: a point keeps the period for which it was placed. A wait that is too long for
 * the CPU on which it ends stands for itself.
 */
static void a_thread_that_moves_is_right_to_the_longest_period(void **state)
{
	static const __u32 shifts[] = { 20, 25, 13, 22 };
	const __s64 longest = 1 << 25;
	struct rng rng = rng_from_environment();

	for (unsigned every = 1; every <= 1000; every *= 10) {
		struct switch_point point = { 0 };
		__u64 chance = random_64(&rng);
		__s64 error = 0;
		__u32 shift = shifts[0];

		switch_next_point(&point, shift, (__u32)random_64(&rng));
		for (int i = 0; i < WAITS / 10; i++) {
			__u64 length = rng_below(&rng, i % 3 ? 1U << 18 : 1U << 10);

			if (!rng_below(&rng, every))
				shift = shifts[rng_below(&rng, 4)];
			error += (__s64)(period_of(&point, length, shift, &chance) - length);
			assert_in_range(error + longest, 0, 2 * longest);
		}
	}
}

/*
 * Nor does it matter which of its functions waits where: each has its own sum, even if one waits on
 * the CPU with the short period and the other on the one with the long period.
 */
static void functions_on_different_cpus_have_their_own_sums(void **state)
{
	struct rng rng = rng_from_environment();
	double told[2] = { 0 }, truth[2] = { 0 }, variance[2] = { 0 };
	struct switch_point point = { 0 };
	__u64 chance = random_64(&rng);

	for (int i = 0; i < WAITS; i++) {
		unsigned which = i % 5 != 0;
		__u64 length = 20000 + rng_below(&rng, 20000);

		told[which] += (double)period_of(&point, length, which ? 23 : 18, &chance);
		truth[which] += (double)length;
		/* A point placed for the other's period may hit it. */
		variance[which] += (double)length * (1 << 23);
	}
	for (int which = 0; which < 2; which++) {
		double error = told[which] - truth[which];

		assert_true(error * error <= 25 * variance[which]);
		assert_true(25 * variance[which] < truth[which] * truth[which] / 4);
	}
}

static void a_long_wait_stands_for_itself(void **state)
{
	struct switch_point point = { .left = 77 };

	for (__u32 shift = SWITCH_PERIOD_SHIFT_MIN; shift <= SWITCH_PERIOD_SHIFT_MAX; shift++) {
		__u64 period = 1ULL << shift;

		assert_int_equal(switch_period(&point, period, shift, ~0ULL), period);
		assert_int_equal(switch_period(&point, 1000 * period + 3, shift, 5),
				 1000 * period + 3);
		assert_int_equal(point.left, 77);
	}
}

#define WORK_NS 20000000000ULL

/* A busy CPU: the share of its time taken by switches and stacks. */
struct work {
	__u64 stack_ns, length_ns, switch_ns;
};

static double share_of(const struct work *w, struct rng *rng, double *ret_stacks,
		       struct switch_budget *ret)
{
	__u64 now_ns = 1, stacks_ns = 0, switches_ns = 0;
	struct switch_budget budget = { 0 };
	struct switch_point point = { 0 };

	while (now_ns < WORK_NS) {
		now_ns += w->length_ns;
		budget.switches++;
		if (switch_review_is_due(&budget, now_ns))
			switch_review(&budget, now_ns);
		if (switch_is_measured(&budget)) {
			switch_learn(&budget.reading, 27);
			switch_learn(&budget.fixed, 27 + w->switch_ns);
		}
		now_ns += SWITCH_AROUND_NS + w->switch_ns;
		switches_ns += SWITCH_AROUND_NS + w->switch_ns;
		if (!switch_period(&point, w->length_ns, switch_shift(&budget, SWITCH_PERIOD_SHIFT),
				   random_64(rng)))
			continue;
		now_ns += w->stack_ns;
		switch_spend(&budget, now_ns, w->stack_ns);
		stacks_ns += w->stack_ns;
	}
	*ret = budget;
	*ret_stacks = (double)stacks_ns / (double)now_ns;
	assert_int_equal(budget.stacks_ns, stacks_ns);
	return (double)(stacks_ns + switches_ns) / (double)now_ns;
}

/* Whatever a switch costs on this machine: it is measured. */
static void switches_and_stacks_cost_no_more_than_their_share(void **state)
{
	static const struct work works[] = {
		{ 5000, 10000, 50 },   { 5000, 2000000, 50 }, { 150000, 2000000, 50 },
		{ 150000, 30000, 50 }, { 3000, 50000, 250 },  { 3000, 20000, 200 },
		{ 3000, 5000, 5 },     { 3000, 2000, 20 },    { 3000, 100000, 900 },
	};
	struct rng rng = rng_from_environment();

	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
		const struct work *w = &works[i];
		struct switch_budget budget;
		double stacks, share = share_of(w, &rng, &stacks, &budget);
		double switches = share - stacks;

		assert_true(stacks > 0);
		/* If switches alone are too many, stacks still get their share. */
		if (switches < 0.9 / SWITCH_SHARE)
			assert_true(share < 1.05 / SWITCH_SHARE);
		else
			assert_true(stacks < 1.05 / SWITCH_SHARE / SWITCH_STACKS_SHARE);
		/* And it is reported: by how much and for how long. */
		assert_true(budget.switches_ns > 0.97 * switches * WORK_NS &&
			    budget.switches_ns < 1.03 * switches * WORK_NS);
		if (switches < 0.9 / SWITCH_SHARE) {
			assert_true(budget.over_ns < WORK_NS / 100);
		} else if (switches > 1.1 / SWITCH_SHARE) {
			assert_true(budget.over_ns > 0.98 * WORK_NS);
			assert_true(budget.over_switches_ns > 0.95 * budget.switches_ns);
		}
	}
}

/* An average of the measured costs, without interrupted measurements. */
static void what_a_switch_costs_is_learnt(void **state)
{
	struct switch_budget budget = { 0 };
	struct rng rng = rng_from_environment();

	assert_int_equal(switch_fixed_ns(&budget), SWITCH_FIXED_NS);
	for (int i = 0; i < 1000; i++) {
		switch_learn(&budget.reading, 20 + rng_below(&rng, 3));
		switch_learn(&budget.fixed, i % 100 == 50 ? 5000000 : 70 + rng_below(&rng, 3));
	}
	assert_in_range(switch_fixed_ns(&budget), SWITCH_AROUND_NS + 48, SWITCH_AROUND_NS + 60);
}

/*
 * A CPU compares clocks now and then. The scheduler's clock was read slightly earlier, sometimes
 * much earlier; clocks drift apart at the maximal rate. The result is never ahead of the truth by
 * more than a usual delay, nor behind by more than a delay plus the drift until the next
 * comparison.
 */
static void clocks_are_told_apart(void **state)
{
	struct rng rng = rng_from_environment();
	struct switch_clock clock = { 0 };
	__u64 monotonic = 5000000000ULL, base = monotonic;

	for (int i = 0; i < 100000; i++) {
		__u64 ahead = 77777777 + (monotonic - base) / 2000; /* drift: 500 ppm */
		__u64 late = rng_below(&rng, 100) ? rng_below(&rng, 2000) : 20000000;
		__s64 error;

		switch_clock_compare(&clock, monotonic - ahead - late, monotonic);
		assert_int_equal(clock.compared_ns, monotonic);
		error = (__s64)(clock.ahead_ns - ahead);
		/* The first ones may all have been delayed. */
		if (i > 10)
			assert_in_range(error + 2000, 0,
					2000 + 2000 + 2 * (SWITCH_WINDOW_NS >> 10));
		monotonic += SWITCH_WINDOW_NS + rng_below(&rng, 1000);
	}
}

/*
 * At first, and after a pause, a switch timed by an outdated clock does not count for a whole
 * window.
 */
static void an_old_clock_is_believed_for_some_switches(void **state)
{
	struct switch_clock clock = { 0 };
	const __u64 ahead = 77777777, old = 20000000, usual = 300;
	__u64 now = 5000000000ULL;

	for (int pause = 0; pause < 3; pause++) {
		for (int i = 0; i < SWITCH_CLOCK_LOOKS_PAUSE; i++) {
			assert_true(switch_clock_is_due(&clock, now));
			switch_clock_compare(
				&clock,
				now - ahead - (i == SWITCH_CLOCK_LOOKS_PAUSE / 2 ? usual : old),
				now);
			now += 10000;
		}
		/* Except for the drift between two switches. */
		assert_in_range(clock.ahead_ns - ahead, usual, usual + 200);
		assert_false(switch_clock_is_due(&clock, now));
		now += 60000000000ULL;
	}
}

/*
 * CPUs' clocks differ and are set back: a thread's time is what lies between its first and its last
 * moment.
 */
static void time_is_counted_once(void **state)
{
	struct rng rng = rng_from_environment();
	__u64 truth = 1000000, since = truth, sum = 0, latest = truth, ahead[4] = { 0 };

	for (int i = 0; i < 100000; i++) {
		unsigned cpu = rng_below(&rng, 4);
		__u64 was = since, now, ns;

		truth += rng_below(&rng, i % 2 ? 100 : 50000);
		if (!rng_below(&rng, 20))
			ahead[cpu] = rng_below(&rng, 260000);
		now = truth + ahead[cpu];
		latest = now > latest ? now : latest;
		ns = switch_passed(&since, now);
		assert_int_equal(since - ns, was);
		sum += ns;
	}
	assert_int_equal(sum, latest - 1000000);
	assert_int_equal(since, latest);
}

/* Setting back a CPU's clock does not change the share of its time. */
static void a_step_back_is_no_new_window(void **state)
{
	struct switch_budget budget = { 0 };
	__u64 now = 5 * SWITCH_WINDOW_NS;

	switch_review(&budget, now);
	for (int i = 0; i < 100; i++) {
		__u64 seen = now - (i % 2 ? 0 : 100000);

		assert_false(switch_review_is_due(&budget, seen));
		switch_spend(&budget, seen, 20000);
	}
	/* As often as the share was spent, and no more. */
	assert_in_range(budget.shift, 5, SWITCH_PERIOD_SHIFT_MAX);
	assert_true(budget.spent_ns >= 100 * 20000 - SWITCH_WINDOW_NS / SWITCH_SHARE);
}

/* Most waits are decided without a random number, in the same way as with any random number. */
static void chance_is_asked_where_it_decides(void **state)
{
	struct rng rng = rng_from_environment();
	struct switch_point point = { 0 };
	__u64 chance = random_64(&rng);
	unsigned asked = 0;

	for (int i = 0; i < WAITS / 10; i++) {
		struct switch_point a = point;
		__u64 length = rng_below(&rng, i % 100 ? 20000 : 1U << 21);

		if (!switch_falls_between(point.left, length, SWITCH_PERIOD_SHIFT)) {
			asked++;
		} else {
			assert_int_equal(
				switch_period(&a, length, SWITCH_PERIOD_SHIFT, random_64(&rng)), 0);
			assert_int_equal(a.left, point.left - length);
		}
		period_of(&point, length, SWITCH_PERIOD_SHIFT, &chance);
	}
	assert_in_range(asked, 1, WAITS / 10 / 25);
}

/*
 * At the end of a recording shorter than a period: a thread that slept all along has no sampling
 * point yet.
 */
static void a_wait_without_a_point_gets_its_share(void **state)
{
	const __u64 length = 300000, period = 1ULL << SWITCH_PERIOD_SHIFT;
	const struct switch_point none = { 0 }, near = { .left = 5, .rest = 7, .shift = 13 };
	struct rng rng = rng_from_environment();
	double told = 0, truth = (double)length * (WAITS / 10);

	for (int i = 0; i < WAITS / 10; i++) {
		__u64 ns = switch_period_so_far(none, length, SWITCH_PERIOD_SHIFT, random_64(&rng));

		assert_true(ns == 0 || ns == period);
		told += (double)ns;
	}
	assert_true((told - truth) * (told - truth) < 25 * truth * (double)period);
	assert_int_equal(switch_period_so_far(near, 11, SWITCH_PERIOD_SHIFT, 0) & 0xffff, 1U << 13);
	assert_int_equal(switch_period_so_far(none, period, SWITCH_PERIOD_SHIFT, 0), period);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_are_told_apart),
		cmocka_unit_test(an_old_clock_is_believed_for_some_switches),
		cmocka_unit_test(time_is_counted_once),
		cmocka_unit_test(a_step_back_is_no_new_window),
		cmocka_unit_test(chance_is_asked_where_it_decides),
		cmocka_unit_test(each_kind_of_wait_has_its_own_sum),
		cmocka_unit_test(a_thread_is_right_to_a_period),
		cmocka_unit_test(a_long_wait_stands_for_itself),
		cmocka_unit_test(a_thread_that_moves_is_right_to_the_longest_period),
		cmocka_unit_test(a_wait_without_a_point_gets_its_share),
		cmocka_unit_test(functions_on_different_cpus_have_their_own_sums),
		cmocka_unit_test(switches_and_stacks_cost_no_more_than_their_share),
		cmocka_unit_test(what_a_switch_costs_is_learnt),
	};

	return cmocka_run_group_tests_name("bpf/wait/switch", tests, NULL, NULL);
}
