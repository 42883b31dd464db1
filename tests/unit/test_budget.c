/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_budget.c - an agent whose cost depends on its rate, depth and native frames, and a budget
 * that limits it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <linux/types.h>
#include <cmocka.h>

#include "agent/budget.h"
#include "base/system/clock.h"

#define WINDOW_NS (10 * NS_PER_SEC)

/* The cost of a second of sampling, as a share of a CPU. */
struct cost {
	double fixed, per_hz, natives;
	double starts; /* of processes, each inspected at once; each step of sparing halves it */
	double waits; /* work that can wait, and does while krait starves */
	double names; /* of somebody who can pay for them alone */
};

struct run {
	struct budget budget;
	struct cost cost;
	__u64 now_ns, used_ns, rss;
	unsigned windows;
};

static void begin(struct run *r, struct cost cost, double cpu)
{
	const struct budget_config config = {
		.wanted = { .frequency = 99, .frames_max = 2048, .natives = true },
		.cpu = cpu,
		.memory_bytes = 1000,
		.interval_ns = WINDOW_NS,
	};

	*r = (struct run){ .cost = cost, .now_ns = NS_PER_SEC, .rss = 100 };
	budget_init(&r->budget, &config);
}

static double share(const struct run *r)
{
	const struct detail *d = budget_detail(&r->budget);
	double hz = (double)d->frequency * (d->frames_max < 2048 ? 0.5 : 1);

	return r->cost.fixed + r->cost.names + r->cost.starts / (1U << r->budget.sparing) +
	       (r->budget.starving ? 0 : r->cost.waits) +
	       hz * (r->cost.per_hz + (d->natives ? r->cost.natives : 0));
}

/* Runs a window with a check every second. Returns its cost, as a share of a CPU. */
static double window(struct run *r)
{
	__u64 before = r->used_ns;

	for (int second = 1; second <= 10; second++) {
		r->used_ns += (__u64)(share(r) * NS_PER_SEC);
		r->now_ns += NS_PER_SEC;
		budget_judge(&r->budget, r->now_ns, r->used_ns, r->rss, second == 10);
	}
	r->windows++;
	return (double)(r->used_ns - before) / WINDOW_NS;
}

static void what_fits_stays_as_it_was_asked_for(void **state)
{
	struct run r;

	begin(&r, (struct cost){ 0.001, 0.00001, 0.00001 }, 0.005);
	for (int i = 0; i < 50; i++)
		window(&r);
	assert_int_equal(r.budget.level, 0);
	assert_int_equal(r.budget.lowered, 0);
}

/* First the rate goes down, and only as far as it must. */
static void the_rate_is_lowered_to_what_fits(void **state)
{
	struct run r;

	begin(&r, (struct cost){ 0, 0.0001, 0.0001 }, 0.005);
	for (int i = 0; i < 5; i++)
		window(&r);
	for (int i = 0; i < 20; i++)
		assert_true(window(&r) <= 0.005);
	assert_in_range(budget_detail(&r.budget)->frequency, 12, 25);
	assert_int_equal(budget_detail(&r.budget)->frames_max, 2048);
	assert_true(budget_detail(&r.budget)->natives);
}

/* A window that is far too expensive is cut short. */
static void a_burst_is_cut_short(void **state)
{
	struct run r;

	begin(&r, (struct cost){ 0, 0.00001, 0 }, 0.005);
	for (int i = 0; i < 5; i++)
		window(&r);
	assert_int_equal(r.budget.level, 0);
	r.cost.per_hz = 0.01;
	assert_true(window(&r) < 0.4); /* of 0.99 */
}

static void depth_and_native_frames_are_the_last_to_go(void **state)
{
	struct run r;

	begin(&r, (struct cost){ 0.004, 0.001, 0.002 }, 0.0052);
	for (int i = 0; i < 20; i++)
		window(&r);
	assert_int_equal(budget_detail(&r.budget)->frequency, 1);
	assert_true(budget_detail(&r.budget)->frames_max < 2048);
	assert_false(budget_detail(&r.budget)->natives);
	/* There is nothing more to give up, so it continues. */
	r.cost.fixed = 0.1;
	for (int i = 0; i < 20; i++)
		window(&r);
	assert_int_equal(budget_detail(&r.budget)->frequency, 1);
}

static void it_comes_back_when_there_is_room(void **state)
{
	struct run r;

	begin(&r, (struct cost){ 0, 0.001, 0.001 }, 0.005);
	for (int i = 0; i < 10; i++)
		window(&r);
	assert_true(r.budget.level > 0);
	r.cost = (struct cost){ 0, 0.000001, 0 };
	for (int i = 0; i < 400 && r.budget.level; i++)
		window(&r);
	assert_int_equal(r.budget.level, 0);
}

/*
 * A level that did not last is retried more and more rarely, so that the budget is not exceeded
 * every few windows.
 */
static void what_did_not_last_is_tried_rarely(void **state)
{
	unsigned over = 0;
	struct run r;

	/* The next level seems to fit but does not: cost jumps with the rate. */
	begin(&r, (struct cost){ 0, 0.0001, 0 }, 0.005);
	for (int i = 0; i < 10; i++)
		window(&r);
	for (int i = 0; i < 500; i++) {
		r.cost.per_hz = budget_detail(&r.budget)->frequency > 20 ? 0.0005 : 0.00005;
		over += window(&r) > 0.005;
	}
	assert_true(over <= 15);
}

/* As on a host that starts a hundred commands a second: samples are not the cost. */
static void a_lower_rate_that_saves_nothing_is_given_back(void **state)
{
	struct run r;
	unsigned low = 0;

	begin(&r, (struct cost){ .fixed = 0.03, .per_hz = 0.00001 }, 0.01);
	for (int i = 0; i < 100; i++) {
		window(&r);
		low += r.budget.level != 0;
	}
	/* It is retried now and then. */
	assert_in_range(low, 1, 15);
	assert_in_range(r.budget.lowered, 2, 15);
	/* If samples are the cost, the rate goes down at once. */
	r.cost.per_hz = 0.0006;
	window(&r);
	window(&r);
	assert_true(budget_detail(&r.budget)->frequency < 50);
	for (int i = 0; i < 5; i++)
		window(&r);
	assert_true(budget_detail(&r.budget)->frequency < 50);
	/* What fits again comes back. */
	r.cost.fixed = 0;
	r.cost.per_hz = 0.00001;
	for (int i = 0; i < 60; i++)
		window(&r);
	assert_int_equal(r.budget.level, 0);
}

/*
 * Starting processes are inspected later and later until the cost fits, at the full rate; and
 * sooner again when there are few.
 */
static void where_starts_are_what_costs_they_are_looked_at_later(void **state)
{
	struct run r;
	unsigned over = 0, changed = 0, sparing;

	begin(&r, (struct cost){ .fixed = 0.002, .per_hz = 0.00001, .starts = 0.05 }, 0.01);
	for (int i = 0; i < 12; i++)
		window(&r);
	for (int i = 0; i < 200; i++) {
		sparing = r.budget.sparing;
		over += window(&r) > 0.01;
		changed += sparing != r.budget.sparing;
	}
	assert_int_equal(r.budget.level, 0);
	assert_in_range(r.budget.sparing, 3, 4);
	assert_true(over <= 8);
	assert_true(changed <= 16);
	r.cost.starts = 0;
	for (int i = 0; i < 400 && r.budget.sparing; i++)
		window(&r);
	assert_int_equal(r.budget.sparing, 0);
	/* The delay has a maximum. */
	r.cost.starts = 10;
	for (int i = 0; i < 100; i++)
		window(&r);
	assert_int_equal(r.budget.sparing, BUDGET_SPARING_MAX);
}

/* Delaying saves no more: now the rate goes down, although that did not help before. */
static void what_is_left_of_the_cost_may_be_samples(void **state)
{
	struct run r;

	begin(&r, (struct cost){ .fixed = 0.001, .per_hz = 0.0001, .starts = 0.2 }, 0.01);
	for (int i = 0; i < 20; i++)
		window(&r);
	assert_int_equal(r.budget.sparing, BUDGET_SPARING_MAX);
	assert_true(r.budget.level > 0);
	assert_true(window(&r) <= 0.01);
}

/* Runs a window in steps of a tenth of a second, as the agent does. */
static double metered_window(struct run *r)
{
	__u64 before = r->used_ns;

	for (int tenth = 1; tenth <= 100; tenth++) {
		r->used_ns += (__u64)(share(r) * NS_PER_SEC / 10);
		r->now_ns += NS_PER_SEC / 10;
		budget_meter(&r->budget, r->now_ns, r->used_ns);
		if (tenth % 10 == 0)
			budget_judge(&r->budget, r->now_ns, r->used_ns, r->rss, tenth == 100);
	}
	return (double)(r->used_ns - before) / WINDOW_NS;
}

/*
 * Work that can wait costs sixty times the budget: the first window is stopped in time, and so is
 * each later one.
 */
static void what_can_wait_waits_before_the_rate_is_lowered(void **state)
{
	double used = 0;
	struct run r;

	begin(&r, (struct cost){ .fixed = 0.001, .per_hz = 0.00001 }, 0.005);
	for (int i = 0; i < 3; i++)
		metered_window(&r);
	r.cost.waits = 0.3;
	for (int i = 0; i < 20; i++) {
		double window = metered_window(&r);

		/* A tenth of a second of it is 0.03 s; half a window may be saved up. */
		assert_true(window <= 0.0106);
		used += window;
	}
	assert_true(used / 20 <= 0.0055);
	assert_int_equal(r.budget.level, 0);
	assert_true(r.budget.starved_ns > 100 * NS_PER_SEC);
	assert_int_equal(r.budget.sparing, BUDGET_SPARING_MAX);
	/* It is done again once it costs little. */
	r.cost.waits = 0.0001;
	for (int i = 0; i < 10; i++)
		metered_window(&r);
	assert_false(r.budget.starving);
}

/* A single expensive job that began in time is paid back, but at most some windows' worth. */
static void what_was_overdrawn_is_paid_back(void **state)
{
	unsigned blind = 0;
	struct run r;

	begin(&r, (struct cost){ .fixed = 0.001 }, 0.005);
	for (int i = 0; i < 3; i++)
		metered_window(&r);
	r.used_ns += NS_PER_SEC / 8;
	for (int i = 0; i < 10; i++) {
		metered_window(&r);
		blind += r.budget.starving;
	}
	assert_in_range(blind, 1, 3);
	assert_int_equal(r.budget.level, 0);
	r.used_ns += 100 * NS_PER_SEC;
	for (int i = 0; i < 10; i++)
		metered_window(&r);
	assert_false(r.budget.starving);
}

/* At the lowest rate and depth, inspections can still be delayed. */
static void at_the_lowest_level_starts_are_spared(void **state)
{
	struct run r;

	begin(&r, (struct cost){ .fixed = 0.004, .per_hz = 0.001 }, 0.005);
	for (int i = 0; i < 30; i++)
		window(&r);
	r.cost.starts = 0.1;
	for (int i = 0; i < 30; i++)
		window(&r);
	assert_int_equal(r.budget.sparing, BUDGET_SPARING_MAX);
}

/* Clocks read in sequence, and helpers' time that is counted late, must not give a negative time. */
static void a_meter_does_not_go_backwards(void **state)
{
	struct run r;

	begin(&r, (struct cost){ .fixed = 0.001 }, 0.005);
	for (int i = 0; i < 3; i++)
		metered_window(&r);
	r.used_ns += NS_PER_SEC;
	assert_true(budget_meter(&r.budget, r.now_ns, r.used_ns));
	assert_true(budget_meter(&r.budget, r.now_ns - (NS_PER_SEC / 1000),
				 r.used_ns - NS_PER_SEC / 2));
	assert_true(budget_meter(&r.budget, r.now_ns + NS_PER_SEC, r.used_ns));
}

/*
 * Limits change while it starves: the current window must report for how long it starved, and
 * nothing restarts from 0.
 */
static void other_limits_keep_what_was_counted(void **state)
{
	struct budget_config config;
	__u64 starved_ns, lowered;
	struct run r;

	begin(&r, (struct cost){ .fixed = 0.001, .per_hz = 0.00001 }, 0.005);
	for (int i = 0; i < 3; i++)
		metered_window(&r);
	r.cost = (struct cost){ .fixed = 0.001, .per_hz = 0.001, .waits = 0.3 };
	for (int i = 0; i < 5; i++)
		metered_window(&r);
	starved_ns = r.budget.starved_ns;
	lowered = r.budget.lowered;
	assert_true(starved_ns > 0 && lowered > 0 && r.budget.level > 0);
	config = r.budget.config;
	config.cpu = 0.01;
	budget_renew(&r.budget, &config);
	assert_int_equal(r.budget.starved_ns, starved_ns);
	assert_int_equal(r.budget.lowered, lowered);
	assert_int_equal(r.budget.level, 0);
	assert_false(r.budget.starving);
	r.cost = (struct cost){ .fixed = 0.001 };
	metered_window(&r);
	assert_int_equal(r.budget.starved_ns, starved_ns);
}

/* Waits are what costs: their bound goes up first, as far as it must, then the rate goes down. */
static void short_waits_go_first(void **state)
{
	struct budget_config config = {
		.wanted = { .frequency = 19, .frames_max = 2048, .wait_ns = 1000000 },
		.cpu = 0.01,
		.interval_ns = WINDOW_NS,
	};
	struct budget b;

	budget_init(&b, &config);
	for (unsigned i = 1; i <= 4; i++) {
		assert_int_equal(b.levels[i].wait_ns, 1000000ULL << (2 * i));
		assert_int_equal(b.levels[i].frequency, 19);
		assert_int_equal(b.levels[i].frames_max, 2048);
	}
	assert_true(b.levels[5].frequency < 19);
	config.wanted.wait_ns = 20000000;
	budget_init(&b, &config);
	assert_int_equal(b.levels[1].wait_ns, 80000000);
	assert_true(b.levels[2].frequency < 19);
	config.wanted.wait_ns = 0;
	budget_init(&b, &config);
	assert_true(b.levels[1].frequency < 19);
}

/* Eight times the budget for waits of a millisecond: 16 are enough, and the rate stays. */
static void waits_are_bounded_by_as_much_as_they_cost(void **state)
{
	const struct budget_config config = {
		.wanted = { .frequency = 19, .frames_max = 2048, .wait_ns = 1000000 },
		.cpu = 0.01,
		.interval_ns = WINDOW_NS,
	};
	__u64 now_ns = NS_PER_SEC, used_ns = 0;
	struct budget b;

	budget_init(&b, &config);
	for (int second = 0; second < 200; second++) {
		used_ns += 80000000ULL * 1000000 / budget_detail(&b)->wait_ns;
		now_ns += NS_PER_SEC;
		budget_meter(&b, now_ns, used_ns);
		budget_judge(&b, now_ns, used_ns, 0, second % 10 == 9);
		assert_int_equal(budget_detail(&b)->frequency, 19);
	}
	assert_true(budget_detail(&b)->wait_ns >= 4000000);
	assert_true(budget_detail(&b)->wait_ns <= 64000000);
}

/* Does nobody else give up anything for somebody's names? */
static void who_has_caused_it_pays_alone(void **state)
{
	struct run r;

	begin(&r, (struct cost){ .fixed = 0.001, .per_hz = 0.00001 }, 0.005);
	for (int i = 0; i < 3; i++)
		metered_window(&r);
	r.cost.names = 0.3;
	r.budget.has_payer = true;
	for (int i = 0; i < 3 && !r.budget.charges; i++)
		metered_window(&r);
	assert_true(r.budget.charges);
	r.cost.names = 0;
	r.budget.has_payer = r.budget.charges = false;
	for (int i = 0; i < 5; i++) {
		metered_window(&r);
		assert_false(r.budget.starving);
	}
	assert_int_equal(r.budget.lowered, 0);
	assert_int_equal(r.budget.sparing, 0);
	/* If that did not help, the others' turn comes. */
	r.cost.per_hz = 0.001;
	for (int i = 0; i < 3; i++)
		metered_window(&r);
	assert_true(r.budget.lowered > 0);
}

static void memory_is_bounded_too(void **state)
{
	struct run r;

	begin(&r, (struct cost){ 0, 0, 0 }, 0);
	for (int i = 0; i < 5; i++)
		window(&r);
	assert_int_equal(r.budget.level, 0);
	r.rss = 2000;
	window(&r);
	window(&r);
	assert_int_equal(r.budget.level, 2);
	r.rss = 10;
	for (int i = 0; i < 400; i++)
		window(&r);
	assert_int_equal(r.budget.level, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fits_stays_as_it_was_asked_for),
		cmocka_unit_test(the_rate_is_lowered_to_what_fits),
		cmocka_unit_test(a_burst_is_cut_short),
		cmocka_unit_test(depth_and_native_frames_are_the_last_to_go),
		cmocka_unit_test(it_comes_back_when_there_is_room),
		cmocka_unit_test(what_did_not_last_is_tried_rarely),
		cmocka_unit_test(a_lower_rate_that_saves_nothing_is_given_back),
		cmocka_unit_test(where_starts_are_what_costs_they_are_looked_at_later),
		cmocka_unit_test(what_is_left_of_the_cost_may_be_samples),
		cmocka_unit_test(what_can_wait_waits_before_the_rate_is_lowered),
		cmocka_unit_test(what_was_overdrawn_is_paid_back),
		cmocka_unit_test(at_the_lowest_level_starts_are_spared),
		cmocka_unit_test(a_meter_does_not_go_backwards),
		cmocka_unit_test(other_limits_keep_what_was_counted),
		cmocka_unit_test(short_waits_go_first),
		cmocka_unit_test(waits_are_bounded_by_as_much_as_they_cost),
		cmocka_unit_test(who_has_caused_it_pays_alone),
		cmocka_unit_test(memory_is_bounded_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
