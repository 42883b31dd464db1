/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_nearest.c - suggestions for mistyped words.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/text/nearest.h"

static const char *const commands[] = { "record", "report", "script",	"convert", "list",
					"dump",	  "doctor", "annotate", "diff" };

static const char *nearest_command(const char *word)
{
	struct nearest n;

	nearest_begin(&n, word);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		nearest_try(&n, commands[i]);
	return n.best;
}

static void a_mistyped_word_finds_its_neighbour(void **state)
{
	assert_string_equal(nearest_command("repotr"), "report"); /* two letters swapped */
	assert_string_equal(nearest_command("recrd"), "record"); /* a letter missing */
	assert_string_equal(nearest_command("dummp"), "dump"); /* a letter doubled */
	assert_string_equal(nearest_command("lost"), "list"); /* a wrong letter */
	assert_string_equal(nearest_command("diff"), "diff");
	assert_string_equal(nearest_command("anotate"), "annotate");
}

static void what_is_far_from_all_finds_none(void **state)
{
	assert_null(nearest_command("frobnicate"));
	assert_null(nearest_command("x"));
	assert_null(nearest_command(""));
	assert_null(nearest_command("ls"));
	assert_null(nearest_command("recordrecordrecordrecordrecordrecord"));
}

static void hyphens_are_easily_left_out(void **state)
{
	struct nearest n;

	nearest_begin(&n, "ofcpu");
	nearest_try(&n, "output");
	nearest_try(&n, "off-cpu");
	assert_string_equal(n.best, "off-cpu");
	nearest_begin(&n, "nosource");
	nearest_try(&n, "no-source");
	assert_int_equal(n.distance, 0);
}

static void the_closest_wins(void **state)
{
	struct nearest n;

	nearest_begin(&n, "thread");
	nearest_try(&n, "threat-of-more-than-thirty-one-letters");
	nearest_try(&n, "threats");
	assert_int_equal(n.distance, 2);
	nearest_try(&n, "threads");
	nearest_try(&n, "treads");
	assert_string_equal(n.best, "threads");
	assert_int_equal(n.distance, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mistyped_word_finds_its_neighbour),
		cmocka_unit_test(what_is_far_from_all_finds_none),
		cmocka_unit_test(hyphens_are_easily_left_out),
		cmocka_unit_test(the_closest_wins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
