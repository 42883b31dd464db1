/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_lasting.c - waits seen while they last: each nanosecond counts once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cmd/top/lasting.h"

static __u64 counted(struct lasting *l, __u32 thread, __u64 from_ns, __u64 to_ns)
{
	struct profile_sample s = {
		.thread = thread, .from_ns = from_ns, .time_ns = to_ns, .period = to_ns - from_ns
	};

	return lasting__count(l, &s) ? s.period : 0;
}

static void seen_while_it_lasts(void **state)
{
	struct lasting *l = lasting__new();

	lasting__begin(l);
	assert_int_equal(counted(l, 7, 100, 1000), 900);
	/* Another thread's. */
	assert_int_equal(counted(l, 8, 900, 1000), 100);
	lasting__end(l);
	lasting__begin(l);
	assert_int_equal(counted(l, 7, 100, 2000), 1000);
	lasting__end(l);
	/* It has ended: waiting until 2500, then ready to run. */
	assert_int_equal(counted(l, 7, 100, 2500), 500);
	assert_int_equal(counted(l, 7, 2500, 2600), 100);
	/* A wait not seen before, of a known thread. */
	assert_int_equal(counted(l, 7, 2700, 2800), 100);
	/* Ended, but looked at later: everything was already counted. */
	assert_int_equal(counted(l, 8, 900, 950), 0);
	lasting__free(l);
}

static void the_end_of_one_comes_late(void **state)
{
	struct lasting *l = lasting__new();

	lasting__begin(l);
	assert_int_equal(counted(l, 1, 0, 1000), 1000);
	lasting__end(l);
	for (int i = 0; i < 2; i++) {
		lasting__begin(l);
		lasting__end(l);
	}
	assert_int_equal(counted(l, 1, 0, 1100), 100);
	lasting__begin(l);
	lasting__end(l);
	/* Forgotten: so many looks have not seen it. */
	assert_int_equal(counted(l, 1, 0, 1100), 1100);
	lasting__free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seen_while_it_lasts),
		cmocka_unit_test(the_end_of_one_comes_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
