/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_report.c - a process's report on a script: messages split in any way, and invalid bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "look/exec/report.h"

struct seen {
	struct report report;
	char text[2][256]; /* stdout, stderr */
};

static void on_text(void *ctx, bool is_stderr, const char *text, size_t len)
{
	struct seen *s = ctx;

	strncat(s->text[is_stderr], text, len);
}

static void begin(struct seen *s)
{
	memset(s, 0, sizeof(*s));
	s->report.text = on_text;
	s->report.ctx = s;
}

static const char whole[] = "S\0\0\0\0"
			    "O\3\0\0\0one"
			    "E\3\0\0\0err"
			    "O\3\0\0\0two"
			    "X\4\0\0\0bad "
			    "X\6\0\0\0indeed"
			    "D\0\0\0\0O\1\0\0\0x";

static void it_comes_in_any_parts(void **state)
{
	static struct seen s;

	for (size_t part = 1; part < sizeof(whole); part++) {
		begin(&s);
		for (size_t at = 0; at < sizeof(whole) - 1; at += part)
			report_take(&s.report, whole + at,
				    part < sizeof(whole) - 1 - at ? part : sizeof(whole) - 1 - at);
		assert_string_equal(s.text[0], "onetwo");
		assert_string_equal(s.text[1], "err");
		assert_string_equal(s.report.error, "bad indeed");
		assert_int_equal(s.report.state, REPORT_RAISED);
		assert_true(s.report.over);
	}
}

static void a_good_end(void **state)
{
	static struct seen s;

	begin(&s);
	assert_int_equal(s.report.state, REPORT_NOTHING);
	report_take(&s.report, "S\0\0\0\0", 5);
	assert_int_equal(s.report.state, REPORT_BEGUN);
	report_take(&s.report, "D\0\0\0\0", 5);
	assert_int_equal(s.report.state, REPORT_DONE);
	report_end(&s.report);
	assert_int_equal(s.report.state, REPORT_DONE);
}

static size_t seen_bytes[2];

static void count_text(void *ctx, bool is_stderr, const char *text, size_t len)
{
	seen_bytes[is_stderr] += len;
}

/* The process decides how much it sends; krait's output may be a file. */
static void there_is_an_end_to_its_text(void **state)
{
	static char message[5 + REPORT_TEXT_MAX] = { 'O', (char)(REPORT_TEXT_MAX & 255),
						     (char)(REPORT_TEXT_MAX >> 8) };
	static struct seen s;

	begin(&s);
	s.report.text = count_text;
	report_take(&s.report, "S\0\0\0\0", 5);
	for (size_t i = 0; i < REPORT_ALL_MAX / REPORT_TEXT_MAX + 1000; i++)
		report_take(&s.report, message, sizeof(message));
	assert_int_equal(seen_bytes[0], REPORT_ALL_MAX);
	assert_int_equal(seen_bytes[1], strlen(REPORT_LEFT_OUT));
	assert_false(s.report.over);
	report_take(&s.report, "D\0\0\0\0", 5);
	assert_int_equal(s.report.state, REPORT_DONE);
}

static void unasked_text_is_broken(void **state)
{
	static struct seen s;

	begin(&s);
	s.report.text = NULL;
	report_take(&s.report, "S\0\0\0\0O\1\0\0\0x", 11);
	assert_int_equal(s.report.state, REPORT_BROKEN);
}

static void an_end_without_a_word_is_broken(void **state)
{
	static struct seen s;

	begin(&s);
	report_take(&s.report, "S\0\0\0\0O\1", 7);
	report_end(&s.report);
	assert_int_equal(s.report.state, REPORT_BROKEN);
}

/* Nothing counts before "begun", and only possible lengths count. */
static void nonsense_is_broken(void **state)
{
	static const char *const bytes[] = { "Q\0\0\0\0", "O\xff\xff\xff\xff", "O\0\0\0\x80",
					     "S\xfc\x0f\0\0" };
	static struct seen s;

	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		begin(&s);
		report_take(&s.report, bytes[i], 5);
		assert_int_equal(s.report.state, REPORT_BROKEN);
		assert_true(s.report.over);
		report_take(&s.report, "S\0\0\0\0D\0\0\0\0", 10);
		assert_int_equal(s.report.state, REPORT_BROKEN);
	}
	begin(&s);
	report_take(&s.report, "O\1\0\0\0xD\0\0\0\0", 11);
	assert_string_equal(s.text[0], "");
	assert_int_equal(s.report.state, REPORT_NOTHING);
	assert_true(s.report.over);
}

static void an_error_is_bounded(void **state)
{
	static struct seen s;
	char part[5 + REPORT_TEXT_MAX];

	begin(&s);
	memset(part, 'e', sizeof(part));
	memcpy(part, "X\xfb\x0f\0\0", 5);
	report_take(&s.report, "S\0\0\0\0", 5);
	for (int i = 0; i < 100; i++)
		report_take(&s.report, part, sizeof(part));
	assert_int_equal(strlen(s.report.error), REPORT_ERROR_MAX - 1);
	assert_int_equal(s.report.state, REPORT_RAISED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_comes_in_any_parts),
		cmocka_unit_test(a_good_end),
		cmocka_unit_test(an_end_without_a_word_is_broken),
		cmocka_unit_test(there_is_an_end_to_its_text),
		cmocka_unit_test(unasked_text_is_broken),
		cmocka_unit_test(nonsense_is_broken),
		cmocka_unit_test(an_error_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
