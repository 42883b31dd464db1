/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_thread_filter.c - the arguments of --thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "profile/thread_filter.h"

static struct thread_filter good(const char *text)
{
	struct thread_filter f = { .cnt = 0 };

	assert_int_equal(thread_filter_add(&f, text), 0);
	assert_false(thread_filter_is_empty(&f));
	return f;
}

static void main_is_the_first_thread_of_each_process(void **state)
{
	struct thread_filter f = good("main");

	assert_true(thread_filter_wants(&f, 7, 7, "worker"));
	assert_true(thread_filter_wants(&f, 9, 9, ""));
	assert_false(thread_filter_wants(&f, 7, 8, "main"));
}

static void a_number_is_an_id(void **state)
{
	struct thread_filter f = good("4194304");

	assert_true(thread_filter_wants(&f, 7, 4194304, "x"));
	assert_false(thread_filter_wants(&f, 4194304, 7, "4194304"));
}

static void all_else_is_a_name(void **state)
{
	struct thread_filter f = good("worker-?");

	assert_true(thread_filter_wants(&f, 1, 2, "worker-1"));
	assert_false(thread_filter_wants(&f, 1, 2, "worker-10"));
	f = good("12a");
	assert_true(thread_filter_wants(&f, 1, 2, "12a"));
	assert_false(thread_filter_wants(&f, 1, 12, "12"));
}

static void the_kernel_knows_15_bytes_of_a_name(void **state)
{
	struct thread_filter f = good("ThreadPoolExecutor-0_1");

	assert_true(thread_filter_wants(&f, 1, 2, "ThreadPoolExecu"));
	assert_false(thread_filter_wants(&f, 1, 2, "ThreadPoolExec"));
	f = good("ThreadPoolExec");
	assert_false(thread_filter_wants(&f, 1, 2, "ThreadPoolExecu"));
}

static void several_are_any_of_them(void **state)
{
	struct thread_filter f = good("main");

	assert_int_equal(thread_filter_add(&f, "worker-*"), 0);
	assert_int_equal(thread_filter_add(&f, "12"), 0);
	assert_true(thread_filter_wants(&f, 7, 7, "x"));
	assert_true(thread_filter_wants(&f, 7, 8, "worker-1"));
	assert_true(thread_filter_wants(&f, 7, 12, "x"));
	assert_false(thread_filter_wants(&f, 7, 13, "x"));
	while (f.cnt < THREAD_FILTER_MAX)
		assert_int_equal(thread_filter_add(&f, "y"), 0);
	assert_int_equal(thread_filter_add(&f, "y"), -E2BIG);
}

static void what_nobody_can_be_is_refused(void **state)
{
	static const char *const wrong[] = { "", "0", "4194305", "99999999999999999999999" };
	struct thread_filter f = { .cnt = 0 };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(thread_filter_add(&f, wrong[i]), -EINVAL);
		assert_true(thread_filter_is_empty(&f));
	}
	assert_true(thread_filter_wants(&f, 1, 2, "anybody"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(main_is_the_first_thread_of_each_process),
		cmocka_unit_test(a_number_is_an_id),
		cmocka_unit_test(all_else_is_a_name),
		cmocka_unit_test(the_kernel_knows_15_bytes_of_a_name),
		cmocka_unit_test(several_are_any_of_them),
		cmocka_unit_test(what_nobody_can_be_is_refused),
	};

	return cmocka_run_group_tests_name("profile/thread_filter", tests, NULL, NULL);
}
