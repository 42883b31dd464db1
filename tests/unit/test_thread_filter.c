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

/* Python's own name for it. */
static void main_has_another_word(void **state)
{
	struct thread_filter f = good("MainThread");

	assert_true(thread_filter_wants(&f, 7, 7, "python3"));
	assert_false(thread_filter_wants(&f, 7, 8, "MainThread"));
	assert_false(thread_filter_has_names(&f));
}

static void a_thread_is_called_as_the_program_calls_it(void **state)
{
	assert_string_equal(thread_name_shown("worker", "python3", "python3"), "worker");
	assert_string_equal(thread_name_shown("", "python3", "python3"), "python3");
	assert_string_equal(thread_name_shown(NULL, "grpc", "python3"), "grpc");
	/* Every first thread is called so. */
	assert_string_equal(thread_name_shown("MainThread", "gunicorn", "python3"), "gunicorn");
	/* Python's number for what a library has started, which may have named it. */
	assert_string_equal(thread_name_shown("Dummy-12", "grpc", "python3"), "grpc");
	assert_string_equal(thread_name_shown("Dummy-12", "python3", "python3"), "Dummy-12");
	assert_string_equal(thread_name_shown("Dummy-x", "grpc", "python3"), "Dummy-x");
	assert_string_equal(thread_name_shown("Dummy-", "grpc", "python3"), "Dummy-");
}

static void what_was_given_is_said(void **state)
{
	struct thread_filter f = good("worker-*");
	char text[64], few[12];

	assert_int_equal(thread_filter_add(&f, "12"), 0);
	assert_int_equal(thread_filter_add(&f, "main"), 0);
	assert_true(thread_filter_has_names(&f));
	thread_filter_say(&f, text, sizeof(text));
	assert_string_equal(text, "--thread worker-* --thread 12 --thread main");
	thread_filter_say(&f, few, sizeof(few));
	assert_string_equal(few, "--thread wo");
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
		cmocka_unit_test(main_has_another_word),
		cmocka_unit_test(a_thread_is_called_as_the_program_calls_it),
		cmocka_unit_test(what_was_given_is_said),
		cmocka_unit_test(a_number_is_an_id),
		cmocka_unit_test(all_else_is_a_name),
		cmocka_unit_test(the_kernel_knows_15_bytes_of_a_name),
		cmocka_unit_test(several_are_any_of_them),
		cmocka_unit_test(what_nobody_can_be_is_refused),
	};

	return cmocka_run_group_tests_name("profile/thread_filter", tests, NULL, NULL);
}
