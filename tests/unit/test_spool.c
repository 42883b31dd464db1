/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_spool.c - batches in files: order, bounds, destinations that come and go.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/export/spool_format.h"
#include "support_spool.h"

static void in_order_over_restarts(void **state)
{
	int cursor;
	struct spool *s = spool_test_open(&cursor);

	for (__u32 n = 1; n <= 10; n++)
		assert_int_equal(spool_test_append(s, n, 100 * n), 0);
	assert_int_equal(spool__cursor_at(s, cursor)->pending, 10);
	assert_int_equal(spool__cursor_at(s, cursor)->pending_samples, 55);
	for (__u32 n = 1; n <= 4; n++)
		assert_int_equal(spool_test_take(s, cursor), n);
	spool__close(s);
	s = spool_test_open(&cursor);
	assert_int_equal(spool__cursor_at(s, cursor)->pending, 6);
	assert_int_equal(spool_test_append(s, 11, 1), 0);
	for (__u32 n = 5; n <= 11; n++)
		assert_int_equal(spool_test_take(s, cursor), n);
	assert_int_equal(spool_test_take(s, cursor), 0);
	assert_int_equal(spool__cursor_at(s, cursor)->pending_bytes, 0);
	spool__close(s);
}

static void the_same_id_is_the_same_batch(void **state)
{
	int cursor;
	struct spool *s = spool_test_open(&cursor);

	assert_int_equal(spool_test_append(s, 1, 10), 0);
	spool__close(s);
	s = spool_test_open(&cursor);
	assert_int_equal(spool_test_append(s, 1, 10), 0);
	assert_int_equal(spool__cursor_at(s, cursor)->pending, 1);
	spool__close(s);
}

static void the_oldest_goes_and_is_counted(void **state)
{
	struct spool_counts counts;
	__u32 n, first;
	int cursor;
	struct spool *s = spool_test_open(&cursor);

	for (n = 1; n <= 100; n++) {
		assert_int_equal(spool_test_append(s, n, 100000), 0);
		spool__counts(s, &counts);
		assert_true(counts.bytes <= test_files.disk_limit);
	}
	assert_true(spool__cursor_at(s, cursor)->pending >= 36);
	assert_int_equal(
		spool__cursor_at(s, cursor)->pending + spool__cursor_at(s, cursor)->dropped, 100);
	assert_int_equal(spool__cursor_at(s, cursor)->pending_samples +
				 spool__cursor_at(s, cursor)->dropped_samples,
			 5050);
	first = (__u32)spool__cursor_at(s, cursor)->dropped + 1;
	for (n = first; n <= 100; n++)
		assert_int_equal(spool_test_take(s, cursor), n);
	assert_int_equal(spool_test_take(s, cursor), 0);
	spool__close(s);
}

static void what_is_larger_than_the_spool_is_dropped(void **state)
{
	int cursor;
	struct spool *s;

	test_files.disk_limit = test_files.memory_limit = 100000;
	s = spool_test_open(&cursor);
	assert_int_equal(spool_test_append(s, 1, 1000), 0);
	assert_int_equal(spool_test_append(s, 2, 100000), -ENOSPC);
	assert_int_equal(spool__cursor_at(s, cursor)->dropped, 1);
	assert_int_equal(spool__cursor_at(s, cursor)->dropped_samples, 2);
	assert_int_equal(spool_test_take(s, cursor), 1);
	assert_int_equal(spool_test_take(s, cursor), 0);
	spool__close(s);
}

static void restarts_use_no_segments(void **state)
{
	struct spool *s;
	int cursor;

	for (__u32 n = 1; n <= 3 * SPOOL_SEGMENTS; n++) {
		s = spool_test_open(&cursor);
		assert_int_equal(spool_test_append(s, n, 100), 0);
		assert_int_equal(spool__cursor_at(s, cursor)->dropped, 0);
		assert_int_equal(spool__cursor_at(s, cursor)->pending, n);
		spool__close(s);
	}
}

static void delivered_segments_are_emptied(void **state)
{
	struct spool_counts counts;
	int cursor;
	struct spool *s = spool_test_open(&cursor);

	for (__u32 n = 1; n <= 200; n++) {
		assert_int_equal(spool_test_append(s, n, 50000), 0);
		assert_int_equal(spool_test_take(s, cursor), n);
		spool__counts(s, &counts);
		assert_true(counts.bytes < test_files.disk_limit / 4);
	}
	assert_int_equal(spool__cursor_at(s, cursor)->dropped, 0);
	spool__close(s);
}

static void a_slow_destination_keeps_what_it_needs(void **state)
{
	static const __u64 keys[] = { SPOOL_TEST_KEY, SPOOL_TEST_KEY2 };
	struct spool *s = spool__open(&test_files);
	int fast = spool__cursor(s, SPOOL_TEST_KEY, EXPORT_OTLP_PROFILES, keys, 2);
	int slow = spool__cursor(s, SPOOL_TEST_KEY2, EXPORT_OTLP_PROFILES, keys, 2);

	for (__u32 n = 1; n <= 30; n++) {
		assert_int_equal(spool_test_append(s, n, 100000), 0);
		assert_int_equal(spool_test_take(s, fast), n);
	}
	for (__u32 n = 1; n <= 30; n++)
		assert_int_equal(spool_test_take(s, slow), n);
	spool__close(s);
}

static void a_destination_that_moved_inherits(void **state)
{
	static const __u64 moved[] = { SPOOL_TEST_KEY2 };
	int cursor;
	struct spool *s = spool_test_open(&cursor);

	for (__u32 n = 1; n <= 5; n++)
		spool_test_append(s, n, 10);
	assert_int_equal(spool_test_take(s, cursor), 1);
	spool__close(s);
	s = spool__open(&test_files);
	cursor = spool__cursor(s, SPOOL_TEST_KEY2, EXPORT_OTLP_PROFILES, moved, 1);
	assert_int_equal(spool_test_take(s, cursor), 2);
	spool__close(s);
}

static void another_destination_begins_now(void **state)
{
	static const __u64 keys[] = { SPOOL_TEST_KEY, SPOOL_TEST_KEY2 };
	int first, second;
	struct spool *s = spool_test_open(&first);

	spool_test_append(s, 1, 10);
	spool__close(s);
	s = spool__open(&test_files);
	first = spool__cursor(s, SPOOL_TEST_KEY, EXPORT_OTLP_PROFILES, keys, 2);
	second = spool__cursor(s, SPOOL_TEST_KEY2, EXPORT_OTLP_PROFILES, keys, 2);
	spool_test_append(s, 2, 10);
	assert_int_equal(spool_test_take(s, first), 1);
	assert_int_equal(spool_test_take(s, second), 2);
	spool__close(s);
}

static void a_destination_that_is_gone_holds_nothing(void **state)
{
	static const __u64 both[] = { SPOOL_TEST_KEY, SPOOL_TEST_KEY2 },
			   other[] = { SPOOL_TEST_KEY, 79 };
	struct spool_counts counts;
	int cursor, gone, new;
	struct spool *s = spool__open(&test_files);

	cursor = spool__cursor(s, SPOOL_TEST_KEY, EXPORT_OTLP_PROFILES, both, 2);
	gone = spool__cursor(s, SPOOL_TEST_KEY2, EXPORT_OTLP_PROFILES, both, 2);
	for (__u32 n = 1; n <= 3; n++)
		spool_test_append(s, n, 1000);
	assert_int_equal(spool_test_take(s, gone), 1);
	spool__close(s);
	/* It takes the place of the one that is gone; another one after it gets none. */
	s = spool__open(&test_files);
	cursor = spool__cursor(s, SPOOL_TEST_KEY, EXPORT_OTLP_PROFILES, other, 2);
	new = spool__cursor(s, 79, EXPORT_OTLP_PROFILES, other, 2);
	assert_int_equal(spool_test_take(s, new), 2);
	spool__close(s);
	s = spool_test_open(&cursor);
	for (__u32 n = 1; n <= 100; n++) {
		if (n > 3)
			assert_int_equal(spool_test_append(s, n, 100000), 0);
		assert_int_equal(spool_test_take(s, cursor), n);
		spool__counts(s, &counts);
		assert_true(counts.bytes < test_files.disk_limit / 4);
	}
	spool__close(s);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, spool_test_set_up, spool_test_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(in_order_over_restarts),
		TEST(the_same_id_is_the_same_batch),
		TEST(the_oldest_goes_and_is_counted),
		TEST(what_is_larger_than_the_spool_is_dropped),
		TEST(restarts_use_no_segments),
		TEST(delivered_segments_are_emptied),
		TEST(a_slow_destination_keeps_what_it_needs),
		TEST(a_destination_that_moved_inherits),
		TEST(another_destination_begins_now),
		TEST(a_destination_that_is_gone_holds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
