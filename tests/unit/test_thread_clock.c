/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_thread_clock.c - a thread's CPU time by the kernel's account against its ticks: what is told,
 * what chance may explain, and what is not known.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <linux/types.h>
#include <cmocka.h>

#include "bpf/abi.h"
#include "record/samples/thread_clock.h"

#define MS 1000000ULL
#define PERIOD (1 * MS)
#define WHOLE CLOCK_WHOLE

static __u64 read_at(struct thread_clock *c, __u64 time_ms, __u64 cpu_ms, __u32 flags)
{
	const struct record_clock record = {
		.time_ns = time_ms * MS, .cpu_ns = cpu_ms * MS, .switches = time_ms, .flags = flags
	};

	return thread_clock_read(c, &record, PERIOD);
}

static void what_no_tick_found_is_told_once(void **state)
{
	struct thread_clock c = { 0 };

	thread_clock_tick(&c, 100 * MS, PERIOD, 100);
	assert_int_equal(read_at(&c, 10000, 5000, WHOLE), 4900);
	assert_int_equal(read_at(&c, 10001, 5000, WHOLE), 0);
	assert_int_equal(read_at(&c, 20000, 9000, WHOLE), 4000);
	assert_int_equal(c.over_ns, 0);
}

static void chance_is_not_told(void **state)
{
	struct thread_clock c = { 0 };

	/* 10,000 ticks are due: the standard error is 100 at most. */
	thread_clock_tick(&c, MS, PERIOD, 9600);
	assert_int_equal(read_at(&c, 100000, 10000, WHOLE), 0);
	c = (struct thread_clock){ 0 };
	thread_clock_tick(&c, MS, PERIOD, 10400);
	assert_int_equal(read_at(&c, 100000, 10000, WHOLE), 0);
	assert_int_equal(c.over_ns, 0);
}

/* Who never leaves the CPU is hit nearly as often as is due. */
static void who_stays_on_a_cpu_leaves_less_to_chance(void **state)
{
	struct record_clock record = { .time_ns = 10000 * MS,
				       .cpu_ns = 10000 * MS,
				       .flags = WHOLE };
	struct thread_clock c = { 0 };

	thread_clock_tick(&c, MS, PERIOD, 9800);
	assert_int_equal(thread_clock_read(&c, &record, PERIOD), 200);
}

/* A thread met late: what it had done before that counts on neither side. */
static void an_account_begins_with_its_first_reading(void **state)
{
	struct thread_clock c = { 0 };

	thread_clock_tick(&c, 50 * MS, PERIOD, 50);
	assert_int_equal(read_at(&c, 1000, 60000, 0), 0);
	thread_clock_tick(&c, 999 * MS, PERIOD, 1000);
	thread_clock_tick(&c, 1001 * MS, PERIOD, 500);
	assert_int_equal(read_at(&c, 2000, 61000, 0), 500);
}

static void what_is_lost_or_open_is_not_told(void **state)
{
	struct record_clock record = { .time_ns = 1000 * MS,
				       .cpu_ns = 500 * MS,
				       .switches = 10,
				       .dropped = 500,
				       .flags = WHOLE };
	struct thread_clock c = { 0 };

	/* Records that found no room are counted as lost. */
	assert_int_equal(thread_clock_read(&c, &record, PERIOD), 0);
	record.dropped = 0;
	/* Time after the end has no samples. */
	c = (struct thread_clock){ 0 };
	record.late_ns = 500 * MS;
	assert_int_equal(thread_clock_read(&c, &record, PERIOD), 0);
	record.late_ns = 0;
	assert_int_equal(thread_clock_read(&c, &record, PERIOD), 500);
}

static void too_many_ticks_are_known(void **state)
{
	struct thread_clock c = { 0 };

	thread_clock_tick(&c, MS, PERIOD, 1500);
	assert_int_equal(read_at(&c, 5000, 1000, WHOLE), 0);
	assert_int_equal(c.over_ns, 500 * MS);
	/* That makes up for what comes later. */
	assert_int_equal(read_at(&c, 6000, 1500, WHOLE), 0);
	assert_int_equal(c.over_ns, 0);
}

/* While the rate is low, each sample stands for more, and chance is larger. */
static void a_low_rate_leaves_more_to_chance(void **state)
{
	struct thread_clock c = { 0 };

	thread_clock_tick(&c, MS, 1000 * MS, 3);
	assert_int_equal(read_at(&c, 60000, 9000, WHOLE), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_no_tick_found_is_told_once),
		cmocka_unit_test(chance_is_not_told),
		cmocka_unit_test(who_stays_on_a_cpu_leaves_less_to_chance),
		cmocka_unit_test(an_account_begins_with_its_first_reading),
		cmocka_unit_test(what_is_lost_or_open_is_not_told),
		cmocka_unit_test(too_many_ticks_are_known),
		cmocka_unit_test(a_low_rate_leaves_more_to_chance),
	};

	return cmocka_run_group_tests_name("record/samples/thread_clock", tests, NULL, NULL);
}
