/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/text/charset.h"

static void set(const char *all, const char *ctype, const char *lang)
{
	const char *const values[] = { all, ctype, lang };
	const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (int i = 0; i < 3; i++) {
		if (values[i])
			setenv(names[i], values[i], 1);
		else
			unsetenv(names[i]);
	}
}

static void the_first_variable_that_is_set_decides(void **state)
{
	set(NULL, NULL, NULL);
	assert_true(charset_is_utf8());
	set("", "", "");
	assert_true(charset_is_utf8());
	set(NULL, NULL, "C");
	assert_false(charset_is_utf8());
	set(NULL, NULL, "en_GB.UTF-8");
	assert_true(charset_is_utf8());
	set(NULL, "C", "en_GB.UTF-8");
	assert_false(charset_is_utf8());
	set("C.utf8", "C", "C");
	assert_true(charset_is_utf8());
	set("C", "C.utf8", "C.utf8");
	assert_false(charset_is_utf8());
	set("", "de_DE.ISO-8859-1", "C.utf8");
	assert_false(charset_is_utf8());
}

static void an_ellipsis_takes_one_column(void **state)
{
	assert_string_equal(charset_ellipsis(true), "~");
	assert_string_equal(charset_ellipsis(false), "…");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_variable_that_is_set_decides),
		cmocka_unit_test(an_ellipsis_takes_one_column),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
