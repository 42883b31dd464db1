/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_debugger_support.c - where debugger requests are stored, according to tables of real builds
 * and to tables that lie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "py_debug_tables.h"

#include "look/exec/debugger_support.h"

static char why[256];

static int parse(const __u64 *table, size_t size, struct debugger_support *ret)
{
	*why = '\0';
	return debugger_support_parse(table, size, ret, why, sizeof(why));
}

/* Expected values are those of py_debug_tables.h. */
static void real_tables(void **state)
{
	struct debugger_support d;

	assert_int_equal(parse(py_debug_table_3_14_10, sizeof(py_debug_table_3_14_10), &d), 0);
	assert_int_equal(d.eval_breaker, 24);
	assert_int_equal(d.pending_call, 304);
	assert_int_equal(d.script_path, 308);
	assert_int_equal(d.script_path_size, 512);
	assert_int_equal(d.remote_debugging_enabled, 8076);
	assert_int_equal(d.threads_main, 7360);
	assert_int_equal(parse(py_debug_table_3_15_2, sizeof(py_debug_table_3_15_2), &d), 0);
	assert_int_equal(d.pending_call, 344);
	assert_int_equal(d.script_path, 348);
	assert_int_equal(d.remote_debugging_enabled, 8028);
	assert_int_equal(d.threads_main, 7352);
}

static void other_versions_are_refused(void **state)
{
	static const __u64 versions[] = { 0x030e00a1, 0x030e00b2, 0x030e00c3, 0x031000f0,
					  0x040000f0 };
	__u64 table[sizeof(py_debug_table_3_14_10) / 8];
	struct debugger_support d;

	assert_int_equal(parse(py_debug_table_3_13_18, sizeof(py_debug_table_3_13_18), &d),
			 -ENOTSUP);
	assert_non_null(strstr(why, "PEP 768"));
	memcpy(table, py_debug_table_3_14_10, sizeof(table));
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		table[1] = versions[i];
		assert_int_equal(parse(table, sizeof(table), &d), -ENOTSUP);
		assert_non_null(strstr(why, i < 3 ? "pre-release" : "not known"));
	}
}

/* Whatever a number claims, each result lies within its struct, and nothing overlaps. */
static void lies_are_refused(void **state)
{
	static const __u64 values[] = { 0,	    1,	   8,	     16,	 300,
					304,	    308,   310,	     512,	 820,
					828,	    832,   1 << 14,  1ULL << 20, 1ULL << 31,
					1ULL << 32, ~0ULL, ~0ULL - 7 };
	__u64 table[sizeof(py_debug_table_3_14_10) / 8];
	unsigned refused = 0;

	for (size_t at = 712 / 8; at < sizeof(table) / 8; at++) {
		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
			struct debugger_support d;

			memcpy(table, py_debug_table_3_14_10, sizeof(table));
			table[at] = values[i];
			if (parse(table, sizeof(table), &d)) {
				refused++;
				continue;
			}
			assert_true(d.script_path_size <= 4096);
			assert_true(d.eval_breaker + 8 <= table[176 / 8]);
			assert_true(d.script_path + d.script_path_size <= table[176 / 8]);
			assert_true(d.pending_call + 4 <= d.script_path);
			assert_true(d.eval_breaker + 8 <= d.pending_call ||
				    d.eval_breaker >= d.script_path + d.script_path_size);
			assert_true(d.remote_debugging_enabled + 4 <= table[48 / 8]);
		}
	}
	assert_true(refused > 60);
}

static void a_cut_table_is_refused(void **state)
{
	struct debugger_support d;

	for (size_t size = 16; size < sizeof(py_debug_table_3_14_10); size += 8)
		assert_int_equal(parse(py_debug_table_3_14_10, size, &d), -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(real_tables),
		cmocka_unit_test(other_versions_are_refused),
		cmocka_unit_test(lies_are_refused),
		cmocka_unit_test(a_cut_table_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
