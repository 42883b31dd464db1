/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_cpu_list.c - CPU lists as sysfs prints them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/sampler/cpus.h"

#define MAX 16

static int parse(const char *text, int *cpus)
{
	memset(cpus, 0x55, MAX * sizeof(*cpus));
	return cpu_list_parse(text, cpus, MAX);
}

static void assert_list(const char *text, int cnt, const int *expected)
{
	int cpus[MAX];

	assert_int_equal(parse(text, cpus), cnt);
	if (cnt)
		assert_memory_equal(cpus, expected, (size_t)cnt * sizeof(*expected));
}

static void lists_and_ranges_are_taken(void **state)
{
	static const int some[] = { 0, 1, 2, 3, 8, 10, 11, 12 };

	assert_list("0\n", 1, some);
	assert_list("0", 1, some);
	assert_list("0-3", 4, some);
	assert_list("0-3\n", 4, some);
	assert_list("0-3,8\n", 5, some);
	assert_list("0-3,8,10-12\n", 8, some);
	assert_list("0-1,2,3,8-8\n", 5, some);
}

static void an_empty_list_has_no_cpu(void **state)
{
	assert_list("", 0, NULL);
	assert_list("\n", 0, NULL);
}

static void what_is_not_a_list_is_refused(void **state)
{
	static const char *const bad[] = { "a",	   "-",	   "-1",    "0-",    "0-a", "3-1",
					   "0--1", "0,,1", ",0",    "0-3-5", "0;1", "0 1",
					   "0x3",  "1.5",  "0-3,b", "0-3x" };
	int cpus[MAX];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (parse(bad[i], cpus) != -EINVAL)
			fail_msg("\"%s\" is taken", bad[i]);
	}
}

static void more_than_the_buffer_holds_is_refused(void **state)
{
	int cpus[MAX + 1];

	cpus[MAX] = 4711;
	assert_int_equal(parse("0-15", cpus), 16);
	assert_int_equal(parse("0-16", cpus), -EINVAL);
	assert_int_equal(parse("0-14,15-16", cpus), -EINVAL);
	assert_int_equal(parse("0-4294967295", cpus), -EINVAL);
	assert_int_equal(cpus[MAX], 4711);
}

static void a_number_that_is_no_cpu_is_refused(void **state)
{
	static const char *const bad[] = {
		"2147483648",	       "4294967296",
		"99999999999",	       "9223372036854775807",
		"9223372036854775808", "9223372036854775800-9223372036854775807"
	};
	int cpus[MAX];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (parse(bad[i], cpus) != -EINVAL)
			fail_msg("\"%s\" is taken as CPU %d", bad[i], cpus[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_and_ranges_are_taken),
		cmocka_unit_test(an_empty_list_has_no_cpu),
		cmocka_unit_test(what_is_not_a_list_is_refused),
		cmocka_unit_test(more_than_the_buffer_holds_is_refused),
		cmocka_unit_test(a_number_that_is_no_cpu_is_refused),
	};

	return cmocka_run_group_tests_name("cpu_list_parse()", tests, NULL, NULL);
}
