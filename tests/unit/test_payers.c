/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_payers.c - owners whose names cost time or bytes, and who pays for that.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <linux/types.h>
#include <cmocka.h>

#include "agent/payers.h"
#include "base/system/clock.h"

#define LEAST_NS 1000

static struct payers p;

static int begin(void **state)
{
	const struct payers_config config = { .bytes_at_once = 1000, .bytes_per_sec = 10 };

	p = (struct payers){ 0 };
	payers_configure(&p, &config);
	return 0;
}

static void cost(unsigned owner, __u64 ns, __u64 bytes)
{
	struct session_names names = p.list[owner].now;

	names.ns += ns;
	names.bytes += bytes;
	payers_take(&p, owner, &names);
}

static void who_has_cost_most_is_found_and_never_root(void **state)
{
	assert_int_equal(payers_costliest(&p, LEAST_NS), OWNER_ROOT);
	cost(OWNER_ROOT, 1000 * LEAST_NS, 1 << 30);
	cost(3, LEAST_NS - 1, 0);
	assert_int_equal(payers_costliest(&p, LEAST_NS), OWNER_ROOT);
	cost(4, 2 * LEAST_NS, 0);
	cost(5, 3 * LEAST_NS, 0);
	assert_int_equal(payers_costliest(&p, LEAST_NS), 5);
	payers_charge(&p, 5);
	assert_int_equal(payers_costliest(&p, LEAST_NS), 4);
	cost(5, 0, 0);
	assert_true(p.list[5].pays && p.list[5].frames_max);
	assert_false(p.list[4].pays || p.list[OWNER_ROOT].pays);
}

static void what_it_cost_long_ago_does_not_count(void **state)
{
	cost(5, 3 * LEAST_NS, 0);
	payers_end_window(&p);
	assert_int_equal(payers_costliest(&p, LEAST_NS), 5);
	payers_end_window(&p);
	assert_int_equal(payers_costliest(&p, LEAST_NS), OWNER_ROOT);
}

/* Returns how many windows it pays for. */
static unsigned pay(unsigned owner)
{
	unsigned windows = 0;

	payers_charge(&p, owner);
	for (cost(owner, 0, 0); p.list[owner].pays; windows++) {
		payers_end_window(&p);
		cost(owner, 0, 0);
	}
	assert_int_equal(p.list[owner].frames_max, 0);
	return windows;
}

static void each_time_it_pays_for_longer(void **state)
{
	unsigned first = pay(7), last = first;

	assert_true(first > 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pay(7), 2 * last);
		last *= 2;
	}
	for (int i = 0; i < 10; i++)
		last = pay(7);
	assert_int_equal(pay(7), last);
	for (int i = 0; i < 100; i++)
		payers_end_window(&p);
	assert_int_equal(pay(7), first);
}

static void who_brings_too_many_bytes_pays_until_time_makes_up_for_it(void **state)
{
	struct payer *one = &p.list[9];

	cost(9, 0, 900);
	assert_false(one->pays);
	cost(9, 0, 900);
	assert_true(one->pays);
	assert_int_equal(one->frames_max, 0);
	/* As if a minute and a half had passed. */
	one->bytes.added_ns -= 90 * NS_PER_SEC;
	cost(9, 0, 0);
	assert_false(one->pays);
	assert_int_equal(payers_costliest(&p, LEAST_NS), OWNER_ROOT);
}

/* The smallest place decides; a tiny one still has room for a program that starts. */
static void shares_are_parts_of_where_names_go(void **state)
{
	struct payers_config c = { 0 };

	payers_bound(&c, 2ULL << 30, 6 * 3600 * NS_PER_SEC);
	assert_int_equal(c.bytes_at_once, (2ULL << 30) / 64);
	assert_in_range(c.bytes_per_sec, 24000, 25000);
	payers_bound(&c, 256ULL << 20, 3600 * NS_PER_SEC);
	assert_int_equal(c.bytes_at_once, 4 << 20);
	assert_in_range(c.bytes_per_sec, 18000, 19000);
	payers_bound(&c, 1 << 20, 3600 * NS_PER_SEC);
	assert_int_equal(c.bytes_at_once, 256 << 10);
	assert_int_equal(c.bytes_per_sec, 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(who_has_cost_most_is_found_and_never_root, begin),
		cmocka_unit_test_setup(what_it_cost_long_ago_does_not_count, begin),
		cmocka_unit_test_setup(each_time_it_pays_for_longer, begin),
		cmocka_unit_test_setup(who_brings_too_many_bytes_pays_until_time_makes_up_for_it,
				       begin),
		cmocka_unit_test_setup(shares_are_parts_of_where_names_go, begin),
	};

	return cmocka_run_group_tests_name("agent/payers", tests, NULL, NULL);
}
