/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_gate.c - krait diff --fail-above: how often it is wrong, and what it finds, in comparisons of
 * programs whose functions are known.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "output/text/gate.h"
#include "support_profile.h"

#define MS 1000000ULL
#define FUNCTIONS 60
#define SAMPLES 20000
#define PAIRS 1000
#define RUNS_MAX 5

/* ---- programs --------------------------------------------------------------------------------- */

static __u64 seed;

static __u64 next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static double uniform(void)
{
	return (double)(next_random() >> 11) / (double)(1ULL << 53);
}

static double gauss(void)
{
	return sqrt(-2 * log(uniform() + 1e-300)) * cos(2 * M_PI * uniform());
}

/* Function 0 has 30 % of the time, the others what Zipf's law leaves them. */
static void set_costs(double *costs)
{
	double sum = 0;

	for (int i = 1; i < FUNCTIONS; i++)
		sum += costs[i] = 1.0 / i;
	for (int i = 1; i < FUNCTIONS; i++)
		costs[i] *= 0.7 / sum;
	costs[0] = 0.3;
}

struct model {
	double first; /* cost of function 0, of what it costs in the first program */
	double spread; /* by how much a function's cost differs from run to run (standard deviation) */
	double samples; /* 0: as many as the costs say */
};

/* The nodes of a dictionary, one for each function. */
struct world {
	struct profile *profile;
	__u32 nodes[FUNCTIONS];
};

static struct world world_new(void)
{
	struct world w = { .profile = profile__new() };
	__u32 root = push(w.profile, 0, add_process(w.profile, "python3", 7));
	char name[16];

	for (int i = 0; i < FUNCTIONS; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		w.nodes[i] = push(w.profile, root,
				  add_function(w.profile, name, "/app/main.py", 10 * i + 1, 0));
	}
	return w;
}

/* One run of the program: each sample falls into one function. */
static struct counts *run_new(const struct world *w, const struct model *m)
{
	static unsigned char function_at[1 << 16];
	const struct event_spec *event = &profile__counts(w->profile, 0)->event;
	struct counts *c = counts__new(w->profile->dict, event);
	double costs[FUNCTIONS], sum = 0, at = 0;
	unsigned hits[FUNCTIONS] = { 0 }, samples;

	assert_non_null(c);
	set_costs(costs);
	costs[0] *= m->first;
	for (int i = 0; i < FUNCTIONS; i++)
		sum += costs[i] *= m->spread > 0 ? exp(m->spread * gauss()) : 1;
	for (unsigned k = 0, i = 0; k < 1 << 16; k++) {
		while (i < FUNCTIONS - 1 && k >= (at + costs[i]) / sum * (1 << 16))
			at += costs[i++];
		function_at[k] = (unsigned char)i;
	}
	samples = (unsigned)((m->samples > 0 ? m->samples : SAMPLES * sum) + 0.5);
	for (unsigned i = 0; i < samples; i += 4)
		for (__u64 bits = next_random(), k = 0; k < 4; k++, bits >>= 16)
			hits[function_at[bits & 0xffff]]++;
	for (int i = 0; i < FUNCTIONS; i++)
		if (hits[i])
			counts__add(c, w->nodes[i], hits[i], hits[i] * MS);
	return c;
}

/* Returns whether the second program fails beside the first; the verdict on function 0 in *ret. */
static bool compare(const struct world *w, const struct model m[2], unsigned runs,
		    const struct gate_options *o, struct gate_row *ret)
{
	struct counts *counts[2 * RUNS_MAX];
	struct gate *gate;
	bool fails;
	__u32 cnt;

	for (unsigned i = 0; i < 2 * runs; i++)
		counts[i] = run_new(w, &m[i >= runs]);
	assert_int_equal(gate__new(&gate, (const struct counts *const *)counts, runs, runs, o), 0);
	fails = gate__failures(gate) > 0;
	for (__u32 i = 0; gate__rows(gate, &cnt) && i < cnt; i++)
		if (ret && (!i || gate__rows(gate, &cnt)[i].value[0] > ret->value[0]))
			*ret = gate__rows(gate, &cnt)[i];
	gate__free(gate);
	for (unsigned i = 0; i < 2 * runs; i++)
		counts__free(counts[i]);
	return fails;
}

static unsigned failures(struct model a, struct model b, unsigned runs, unsigned pairs,
			 struct gate_options o)
{
	const struct model both[2] = { a, b };
	struct world w = world_new();
	unsigned cnt = 0;

	seed = 88172645463325252ULL;
	o.above = 5;
	o.min_points = 0.05;
	for (unsigned i = 0; i < pairs; i++)
		cnt += compare(&w, both, runs, &o, NULL);
	profile__free(w.profile);
	return cnt;
}

#define EQUAL ((struct model){ .first = 1 })
#define SHARES ((struct gate_options){ 0 })
#define WORK ((struct gate_options){ .work = { 1, 1 } })

/* ---- tests ------------------------------------------------------------------------------------ */

static void equal_programs_pass(void **state)
{
	const struct model half = { .first = 1, .samples = SAMPLES / 2 };

	assert_int_equal(failures(EQUAL, EQUAL, 1, PAIRS, SHARES), 0);
	assert_int_equal(failures(EQUAL, EQUAL, 1, PAIRS, WORK), 0);
	/* Another length is no change of shares. */
	assert_int_equal(failures(EQUAL, half, 1, PAIRS, SHARES), 0);
}

/* 10 % more of what has 30 %: of its cost for the same work, and of its share. */
static void a_tenth_more_is_found(void **state)
{
	const struct model slower = { .first = 1.1 };
	const struct model share = { .first = 0.33 / 0.67 / (0.3 / 0.7), .samples = SAMPLES };
	const struct model same_length = { .first = 1.1, .samples = SAMPLES };
	const struct model twice[2] = { { .first = 1, .samples = 2 * SAMPLES },
					{ .first = 1.1, .samples = 2 * SAMPLES } };

	assert_true(failures(EQUAL, slower, 1, PAIRS, WORK) >= PAIRS * 97 / 100);
	assert_true(failures(EQUAL, share, 1, PAIRS, SHARES) >= PAIRS * 97 / 100);
	/* 30 to 32 % of everything is 4.4 standard errors: a test that is wrong so seldom cannot find more. */
	assert_in_range(failures(EQUAL, same_length, 1, PAIRS, SHARES), PAIRS * 45 / 100,
			PAIRS * 60 / 100);
	assert_true(failures(twice[0], twice[1], 1, PAIRS, SHARES) >= PAIRS * 97 / 100);
	/* A faster program is no failure; by shares the other functions have more then. */
	assert_int_equal(failures(slower, EQUAL, 1, PAIRS, WORK), 0);
}

/* What grew by a tenth is said to have grown by a tenth, whatever share of the program it has. */
static void growth_is_against_the_rest(void **state)
{
	const struct model both[2] = { { .first = 10, .samples = SAMPLES },
				       { .first = 11, .samples = SAMPLES } };
	struct gate_options o = { .above = 5 };
	struct world w = world_new();
	double sum = 0;

	seed = 4711;
	for (int i = 0; i < 50; i++) {
		struct gate_row row = { 0 };

		compare(&w, both, 1, &o, &row);
		assert_true(row.value[1] > 0.80 && row.value[1] < row.value[0] * 1.04);
		sum += row.change / 50;
	}
	assert_true(sum > 9 && sum < 11);
	profile__free(w.profile);
}

/* Function 0 with these shares, of so many samples a side that chance explains nothing; nothing else grew. */
static bool judge_shares(double a, double b, struct gate_row *ret)
{
	const struct model both[2] = { { .first = a / (1 - a) / (0.3 / 0.7), .samples = 1e6 },
				       { .first = b / (1 - b) / (0.3 / 0.7), .samples = 1e6 } };
	const struct gate_options o = { .above = 5, .min_points = 0.05 };
	struct world w = world_new();
	bool fails;

	seed = 4711;
	*ret = (struct gate_row){ 0 };
	fails = compare(&w, both, 1, &o, ret);
	profile__free(w.profile);
	return fails;
}

/*
 * What has nearly everything has more of it when the start is shorter (the second run finds its .pyc files): that is no
 * growth, and krait does not say that it would find one.
 */
static void a_small_rest_says_nothing(void **state)
{
	struct gate_row row;

	assert_false(judge_shares(0.985, 0.995, &row));
	assert_true(row.change > 0.5 && row.change < 1.5 && isinf(row.detects));
	/* 5 and 2.5 % may be the start as well. */
	assert_false(judge_shares(0.95, 0.975, &row));
	assert_true(row.change > 2 && row.change < 3 && isinf(row.detects));
	assert_false(judge_shares(0.995, 0.9999, &row));
	assert_true(row.change < 1);
	/* A rest of more than a tenth still counts, also if it was more before. */
	assert_true(judge_shares(0.80, 0.82, &row));
	assert_true(row.change > 12 && row.change < 16 && row.detects < 12);
	assert_true(judge_shares(0.85, 0.95, &row));
	assert_true(row.change > 60 && row.change < 75);
	assert_true(judge_shares(0.30, 0.32, &row));
	assert_true(row.change > 8 && row.change < 12 && row.detects < 8);
}

/* Each run's functions cost 5 % more or less: one run a side takes that for a change. */
static void runs_that_differ_pass(void **state)
{
	const struct model restless = { .first = 1, .spread = 0.05 };
	const struct model slower = { .first = 1.4, .spread = 0.05 };

	assert_true(failures(restless, restless, 1, 100, SHARES) > 10);
	assert_int_equal(failures(restless, restless, 5, PAIRS / 5, SHARES), 0);
	assert_int_equal(failures(restless, restless, 2, PAIRS / 2, WORK), 0);
	assert_true(failures(restless, slower, 5, 100, WORK) >= 95);
}

static void a_total_needs_several_runs(void **state)
{
	const struct gate_options whole = { .whole = true, .work = { 1000, 1000 } };
	const struct model restless = { .first = 1, .spread = 0.03 };
	const struct model slower = { .first = 1.5, .spread = 0.03 };
	struct world w = world_new();
	struct counts *two[2] = { run_new(&w, &restless), run_new(&w, &restless) };
	struct gate *gate;

	assert_int_equal(gate__new(&gate, (const struct counts *const *)two, 1, 1, &whole),
			 -ERANGE);
	counts__free(two[0]);
	counts__free(two[1]);
	profile__free(w.profile);
	assert_int_equal(failures(restless, restless, 5, PAIRS / 5, whole), 0);
	assert_true(failures(restless, slower, 5, 100, whole) >= 95);
}

/* What a row says can be found is found in about four of five comparisons. */
static void what_can_be_found_is_said(void **state)
{
	const struct gate_options work = { .above = 1, .work = { 1, 1 } };
	struct model both[2] = { { .first = 1 }, { .first = 1 } };
	struct world w = world_new();
	struct gate_row row = { 0 };
	unsigned found = 0;

	seed = 1234567;
	compare(&w, both, 1, &work, &row);
	assert_true(row.detects > 5 && row.detects < 12);
	both[1].first = 1 + row.detects / 100;
	for (int i = 0; i < 400; i++) {
		compare(&w, both, 1, &work, &row);
		found += row.fails;
	}
	assert_in_range(found, 400 * 70 / 100, 400 * 90 / 100);
	profile__free(w.profile);
}

static void one_function_may_be_named(void **state)
{
	struct gate_options one = { .above = 5, .function = "f3", .by_total = true };
	const struct model both[2] = { { .first = 1 }, { .first = 2 } };
	struct world w = world_new();
	struct counts *two[2] = { run_new(&w, &both[0]), run_new(&w, &both[1]) };
	struct gate *gate;
	__u32 cnt;

	seed = 99;
	assert_false(compare(&w, both, 1, &one, NULL));
	one.function = "f0";
	assert_true(compare(&w, both, 1, &one, NULL));
	one.function = "no_such";
	assert_int_equal(gate__new(&gate, (const struct counts *const *)two, 1, 1, &one), -ENOENT);
	one.function = "f0";
	assert_int_equal(gate__new(&gate, (const struct counts *const *)two, 1, 1, &one), 0);
	gate__rows(gate, &cnt);
	assert_int_equal(cnt, 1);
	gate__free(gate);
	counts__free(two[0]);
	counts__free(two[1]);
	profile__free(w.profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_programs_pass),
		cmocka_unit_test(a_tenth_more_is_found),
		cmocka_unit_test(growth_is_against_the_rest),
		cmocka_unit_test(a_small_rest_says_nothing),
		cmocka_unit_test(runs_that_differ_pass),
		cmocka_unit_test(a_total_needs_several_runs),
		cmocka_unit_test(what_can_be_found_is_said),
		cmocka_unit_test(one_function_may_be_named),
	};

	seed = 88172645463325252ULL;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
