/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_event_filter.c - filters of tracepoints: what their tests come to for a record, by this file's own reading of them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <cmocka.h>

#include "base/system/event_filter.h"

static const char format[] = "name: x\nID: 1\nformat:\n"
			     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
			     "\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n"
			     "\tfield:pid_t a;\toffset:12;\tsize:4;\tsigned:1;\n"
			     "\tfield:unsigned int b;\toffset:16;\tsize:4;\tsigned:0;\n"
			     "\tfield:char text[16];\toffset:20;\tsize:16;\tsigned:0;\n"
			     "\tfield:u8 key[6];\toffset:36;\tsize:6;\tsigned:0;\n"
			     "\tfield:unsigned char addr[6];\toffset:42;\tsize:6;\tsigned:0;\n"
			     "\tfield:u8 eight[8];\toffset:48;\tsize:8;\tsigned:0;\n"
			     "\tfield:__rel_loc char[] near;\toffset:56;\tsize:4;\tsigned:0;\n"
			     "\nprint fmt: \"\"\n";

static char why[512];
static struct filter_program program;

/* Of numbers alone. */
static bool takes(const char *text, int a, unsigned b)
{
	__u32 at;

	assert_int_equal(event_filter_parse(&program, text, format, why, sizeof(why)), 0);
	for (at = program.begin; at < FILTER_TESTS_MAX;) {
		const struct filter_test *t = &program.tests[at];
		const __s64 value = t->offset == 12 ? a : (__s64)b, want = (__s64)t->value;
		bool holds = t->op == FILTER_IS		? value == want :
			     t->op == FILTER_IS_NOT	? value != want :
			     t->op == FILTER_LESS	? value < want :
			     t->op == FILTER_LESS_OR_IS ? value <= want :
			     t->op == FILTER_MORE	? value > want :
			     t->op == FILTER_MORE_OR_IS ? value >= want :
							  (value & want) != 0;

		assert_true(t->offset == 12 || t->offset == 16);
		assert_int_equal(t->size, 4);
		assert_true(t->yes >= FILTER_TAKE || t->yes < at);
		assert_true(t->no >= FILTER_TAKE || t->no < at);
		at = holds ? t->yes : t->no;
	}
	return at == FILTER_TAKE;
}

static void comparisons_are_joined_as_in_c(void **state)
{
	for (int a = -2; a < 6; a++) {
		for (unsigned b = 0; b < 6; b++) {
			assert_int_equal(takes("a == 3", a, b), a == 3);
			assert_int_equal(takes("a < -1||b>=4", a, b), a < -1 || b >= 4);
			assert_int_equal(takes("a == 1 || a == 2 && b != 3", a, b),
					 a == 1 || (a == 2 && b != 3));
			assert_int_equal(takes("(a == 1 || a == 2) && b != 3", a, b),
					 (a == 1 || a == 2) && b != 3);
			assert_int_equal(takes("!(a <= 1 && b & 2) && !(b > 4)", a, b),
					 !(a <= 1 && b & 2) && !(b > 4));
			assert_int_equal(takes("!(a == 1 || !(b == 2 || a > 0x3))", a, b),
					 !(a == 1 || !(b == 2 || a > 3)));
		}
	}
	assert_true(takes("b == -1", 0, ~0U));
	assert_true(takes("a == 0xffffffea", -22, 0));
	assert_true(takes("a < 0xffffffff", -22, 0));
}

static const struct filter_test *only(const char *text)
{
	assert_int_equal(event_filter_parse(&program, text, format, why, sizeof(why)), 0);
	assert_int_equal(program.begin, 0);
	assert_int_equal(program.tests[0].yes, FILTER_TAKE);
	return &program.tests[0];
}

static void assert_text(const char *filter, enum filter_op op, const char *text)
{
	const struct filter_test *t = only(filter);

	assert_int_equal(t->op, op);
	assert_int_equal(t->len, strlen(text));
	assert_memory_equal(t->text, text, t->len);
}

static void patterns_have_a_star_at_their_ends(void **state)
{
	assert_text("filename == \"/bin/true\"", FILTER_IS, "/bin/true");
	assert_int_equal(program.tests[0].field, FILTER_TEXT_AT);
	assert_text("text != bash", FILTER_IS_NOT, "bash");
	assert_int_equal(program.tests[0].field, FILTER_TEXT);
	assert_text("text ~ 'a b*'", FILTER_BEGINS, "a b");
	assert_text("text ~ \"*ab\"", FILTER_ENDS, "ab");
	assert_text("text ~ \"*ab*\"", FILTER_HAS, "ab");
	assert_text("text ~ \"ab\"", FILTER_IS, "ab");
	assert_text("text ~ \"*\"", FILTER_ENDS, "");
	assert_text("COMM == x", FILTER_IS, "x");
	assert_int_equal(program.tests[0].field, FILTER_THE_COMM);
	assert_int_equal(only("common_pid == 3")->field, FILTER_THE_TID);
	assert_true(only("common_pid > -1")->is_signed);
	assert_int_equal(only("CPU < 2")->field, FILTER_THE_CPU);
}

static void what_is_no_filter_says_why(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "", "no field at" },
		{ "c == 1",
		  "no field \"c\"; its fields: filename, a, b, text, key, addr, eight, near" },
		{ "key == 1", "neither a number" },
		{ "addr == x", "neither a number" },
		{ "eight == 1", "neither a number" },
		{ "near == 1", "neither a number" },
		{ "b > 0x100000000", "does not fit" },
		{ "a == -2147483649", "does not fit" },
		{ "COMM ==", "is missing" },
		{ "COMM == && a == 1", "is missing" },
		{ "a", "compares with" },
		{ "a = 1", "compares with" },
		{ "a == ", "a is a number" },
		{ "a == 1 &&", "no field at" },
		{ "a == 1)", "ends before" },
		{ "((a == 1)", "not closed" },
		{ "common_type == 1", "no field" },
		{ "text ~ \"a*b\"", "has a *" },
		{ "text == \"123456789012345678901234567890123\"", "at most 32 bytes" },
		{ "!!!!!!!!!!!!!!!!!a == 1", "at most 16 levels" },
		{ "a==1||a==1||a==1||a==1||a==1||a==1||a==1||a==1||a==1||a==1||a==1||a==1||a==1||a==1||a==1||a==1||a==1",
		  "at most 16 comparisons" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(event_filter_parse(&program, cases[i].text, format, why, sizeof(why)) <
			    0);
		if (!strstr(why, cases[i].says))
			fail_msg("%s: %s", cases[i].text, why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comparisons_are_joined_as_in_c),
		cmocka_unit_test(patterns_have_a_star_at_their_ends),
		cmocka_unit_test(what_is_no_filter_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
