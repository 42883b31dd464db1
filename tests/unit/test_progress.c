/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_progress.c - the live line is true and fits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "cmd/record/progress.h"

static const struct progress quiet = { 2.84, 28, 28, 0, 10.2, 1, false };
static const struct progress lossy = { 12.34, 123456, 123500, 44, 997.4, 12, false };

static void only_what_is_so_is_said(void **state)
{
	char line[256];

	progress_format(&quiet, true, 0, line, sizeof(line));
	assert_string_equal(line, "krait: 2.8 s  28 samples (10/s)  1 process  Ctrl-C to stop");
	progress_format(&quiet, false, 0, line, sizeof(line));
	assert_string_equal(line, "krait: 2.8 s  28 samples (10/s)  1 process");
	progress_format(&lossy, false, 0, line, sizeof(line));
	assert_string_equal(line, "krait: 12.3 s  123456 samples (997/s)  12 processes  lost 44 "
				  "(0.04%)");
}

static void the_last_column_stays_free(void **state)
{
	char line[256];

	for (unsigned columns = 1; columns < 200; columns++) {
		progress_format(&lossy, true, columns, line, sizeof(line));
		assert_true(strlen(line) < columns);
		assert_true(strlen(line) == columns - 1 || strstr(line, "to stop"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_so_is_said),
		cmocka_unit_test(the_last_column_stays_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
