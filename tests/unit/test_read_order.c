/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_read_order.c - records by their times, as far as the ends of rounds tell.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "capture/perfdata/read_order.h"

static void put(struct read_order *o, const char *text, __u64 time_ns)
{
	assert_int_equal(read_order_put(o, text, strlen(text) + 1, time_ns), 0);
}

/* What may go now. */
static void assert_next(struct read_order *o, const char *want)
{
	const __u8 *record;
	size_t size;

	for (; *want; want++) {
		record = read_order_take(o, &size);
		assert_non_null(record);
		assert_int_equal(size, 2);
		assert_int_equal(record[0], *want);
	}
	assert_null(read_order_take(o, &size));
}

static void what_the_round_before_had_is_due(void **state)
{
	struct read_order o = { 0 };

	/* The buffer of one CPU, and then that of another. */
	put(&o, "c", 30);
	put(&o, "e", 50);
	put(&o, "a", 10);
	put(&o, "d", 40);
	assert_next(&o, "");
	read_order_round(&o);
	assert_next(&o, "");
	/* It came while the first buffer had been emptied. */
	put(&o, "b", 20);
	put(&o, "g", 70);
	put(&o, "f", 60);
	read_order_round(&o);
	assert_next(&o, "abcde");
	put(&o, "h", 80);
	read_order_end(&o);
	assert_next(&o, "fgh");
	read_order_free(&o);
}

static void equal_times_stay_in_the_file_s_order(void **state)
{
	struct read_order o = { 0 };

	for (char c = 'b'; c <= 'y'; c++)
		put(&o, (const char[]){ c, 0 }, 7);
	put(&o, "a", 6);
	put(&o, "z", 8);
	read_order_end(&o);
	assert_next(&o, "abcdefghijklmnopqrstuvwxyz");
	read_order_free(&o);
}

static void random_times_are_sorted(void **state)
{
	struct read_order o = { 0 };
	__u64 random = 1, last = 0, now;
	const __u8 *record;
	size_t size, cnt = 0;

	for (int i = 0; i < 5000; i++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		now = random >> 44;
		assert_int_equal(read_order_put(&o, &now, sizeof(now), now), 0);
	}
	read_order_end(&o);
	for (; (record = read_order_take(&o, &size)); cnt++) {
		memcpy(&now, record, sizeof(now));
		assert_true(now >= last);
		last = now;
	}
	assert_int_equal(cnt, 5000);
	assert_int_equal(o.bytes, 0);
	read_order_free(&o);
}

/* Rounds never end: the oldest go. What is freed with records in it is freed whole. */
static void memory_is_bounded(void **state)
{
	static const char record[60000];
	struct read_order o = { 0 };
	size_t size, given = 0;

	for (__u64 i = 0; i < 2000; i++) {
		assert_int_equal(read_order_put(&o, record, sizeof(record), i), 0);
		while (read_order_take(&o, &size))
			given++;
		assert_true(o.bytes <= READ_ORDER_BYTES);
	}
	assert_in_range(given, 800, 1000);
	read_order_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_round_before_had_is_due),
		cmocka_unit_test(equal_times_stay_in_the_file_s_order),
		cmocka_unit_test(random_times_are_sorted),
		cmocka_unit_test(memory_is_bounded),
	};

	return cmocka_run_group_tests_name("read_order", tests, NULL, NULL);
}
