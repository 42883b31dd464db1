/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_spots.c - places within lines: their counts, and how a page, a report and annotated source
 * show them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "output/text/annotate_spots.h"
#include "output/page/html_instructions.h"
#include "output/text/opcode_table.h"
#include "profile/frames.h"
#include "profile/opcodes.h"
#include "profile/profile.h"
#include "profile/spots.h"
#include "profile/view.h"
#include "support_profile.h"

#define V_3_15 0x030f02f0
#define FILE_NAME "/srv/app.py"

static __u16 find(__u32 version, const char *name)
{
	char buf[OPCODE_NAME_SIZE];

	for (int byte = 1; byte < 256; byte++)
		if (!strcmp(opcode_name(opcode_of(version, (__u8)byte), buf), name))
			return opcode_of(version, (__u8)byte);
	fail_msg("%s", name);
	return 0;
}

static __u32 add_spot(struct profile *p, const char *name, int line, int column, int end, int unit,
		      const char *opcode)
{
	const struct profile_frame f = {
		.kind = FRAME_PYTHON,
		.name = dict__string(p->dict, name),
		.file = dict__string(p->dict, FILE_NAME),
		.first_line = 1,
		.line = line,
		.column = column,
		.end_column = end,
		.unit = unit,
		.opcode = opcode ? find(V_3_15, opcode) : 0,
	};

	return dict__frame(p->dict, &f);
}

/*
 * f at "f(g(x), h(y))" calls g and h, which is C; below g is the same line again (recursion). 10
 * samples in C below h(y), 5 in g, 3 in f itself, 2 outside Python.
 */
static struct profile *make(void)
{
	struct profile *p = profile__new();
	__u32 root, f, g, h, n;

	root = push(p, 0, add_process(p, "python3", 1));
	f = push(p, root, add_spot(p, "f", 4, 11, 24, 30, "CALL"));
	add_samples(p, f, 3);
	g = push(p, push(p, root, add_spot(p, "f", 4, 13, 17, 10, "CALL_PY_EXACT_ARGS")),
		 add_spot(p, "g", 2, 4, 9, 3, NULL));
	add_samples(p, g, 1);
	add_samples(p, push(p, g, add_spot(p, "f", 4, 13, 17, 10, "CALL_PY_EXACT_ARGS")), 4);
	h = push(p, root, add_spot(p, "f", 4, 19, 23, 20, "CALL_BUILTIN_O"));
	n = push(p, h, dict__plain_frame(p->dict, FRAME_NATIVE, "crunch", "/lib/libc.so", 0));
	add_samples(p, n, 10);
	add_samples(p,
		    push(p, root,
			 dict__plain_frame(p->dict, FRAME_NATIVE, "start", "/lib/libc.so", 0)),
		    2);
	return p;
}

static const struct spot *spot_at(const struct spots *s, int line, int column)
{
	__u32 cnt;
	const struct spot *list = NULL;

	for (__u32 i = 0; i < s->cnt && !list; i++)
		list = spots_of_line(s, s->list[i].file, line, &cnt);
	for (__u32 i = 0; list && i < cnt; i++)
		if (list[i].column == column)
			return &list[i];
	fail_msg("no spot at %d:%d", line, column);
	return NULL;
}

static void numbers_add_up(void **state)
{
	struct profile *p = make();
	struct spots s;
	__u64 self = 0;
	__u32 cnt;

	assert_int_equal(spots_make(&s, profile__counts(p, 0)), 0);
	assert_int_equal(s.all, 20);
	assert_int_equal(s.self, 18);
	for (__u32 i = 0; i < s.cnt; i++)
		self += s.list[i].self;
	assert_int_equal(self, s.self);
	assert_true(s.has_opcodes);
	/* C code below it counts as its own; recursion counts once. */
	assert_int_equal(spot_at(&s, 4, 19)->self, 10);
	assert_int_equal(spot_at(&s, 4, 13)->self, 4);
	assert_int_equal(spot_at(&s, 4, 13)->total, 5);
	assert_int_equal(spot_at(&s, 4, 11)->self, 3);
	assert_int_equal(spot_at(&s, 2, 4)->self, 1);
	assert_int_equal(spot_at(&s, 2, 4)->unit, -1);
	assert_null(spots_of_line(&s, s.list[0].file, 3, &cnt));
	assert_int_equal(cnt, 0);
	spots_free(&s);
	profile__free(p);
}

static char *read_back(int (*put)(FILE *out, const void *ctx), const void *ctx)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(put(out, ctx), 0);
	fclose(out);
	return text;
}

static int put_page(FILE *out, const void *ctx)
{
	const struct view *v = ctx;

	return html_put_instructions(out, v->counts, v);
}

static void a_page_has_rows_by_frame(void **state)
{
	const struct view_options options = { .lines = true, .order = VIEW_BY_NAME };
	struct profile *p = make();
	struct view *v;
	char *text, want[64];
	__u32 frame = 0;

	assert_int_equal(view__new(&v, profile__counts(p, 0), &options), 0);
	for (__u32 i = 1; i < v->frame_cnt; i++)
		if (v->frames[i].line == 4)
			frame = i;
	text = read_back(put_page, v);
	assert_non_null(strstr(text, "\"CALL_BUILTIN_O\""));
	assert_non_null(strstr(text, "\"not specialised\""));
	assert_non_null(strstr(text, "\"specialised\""));
	snprintf(want, sizeof(want), "%u,11,24,", frame);
	assert_non_null(strstr(text, want));
	snprintf(want, sizeof(want), "%u,19,23,", frame);
	assert_non_null(strstr(text, want));
	/* Without an opcode it still has its columns. */
	assert_non_null(strstr(text, ",4,9,-1,1"));
	free(text);
	view__free(v);
	profile__free(p);
}

static int put_table(FILE *out, const void *ctx)
{
	const struct summary_options o = { .samples = true };

	return opcode_table(out, ctx, NULL, &o);
}

static void a_report_says_what_is_not_specialised(void **state)
{
	struct profile *p = make();
	char *text = read_back(put_table, profile__counts(p, 0));

	assert_non_null(strstr(
		text,
		" 50.0%  50.0%        10  CALL_BUILTIN_O                       specialised\n"));
	assert_non_null(strstr(
		text,
		" 20.0%  25.0%         4  CALL_PY_EXACT_ARGS                   specialised\n"));
	assert_non_null(strstr(
		text,
		" 15.0%  15.0%         3  CALL                                 not specialised\n"));
	assert_non_null(strstr(text, "  5.0%  25.0%         1  [opcode not known]\n"));
	assert_non_null(strstr(
		text,
		"85.0% in instructions that have special forms: 82.4% of that in one of them\n"));
	assert_non_null(strstr(
		text, " 15.0%         3  CALL                 @60    f (app.py:4), column 12\n"));
	free(text);
	profile__free(p);
}

static void opcodes_of_several_versions_say_which(void **state)
{
	struct profile *p = make();
	const struct profile_frame f = { .kind = FRAME_PYTHON,
					 .name = dict__string(p->dict, "f"),
					 .line = 4,
					 .column = -1,
					 .end_column = -1,
					 .opcode = find(0x030b0000, "CALL") };
	char *text;

	add_samples(p, push(p, 0, dict__frame(p->dict, &f)), 5);
	text = read_back(put_table, profile__counts(p, 0));
	assert_non_null(strstr(text, " 5  CALL, 3.11                           not specialised\n"));
	assert_non_null(strstr(text, " 3  CALL, 3.15                           not specialised\n"));
	assert_non_null(strstr(text, "[opcode not known]\n"));
	free(text);
	profile__free(p);
}

static void without_opcodes_there_is_no_table(void **state)
{
	const struct summary_options o = { .samples = true };
	struct profile *p = small_profile();
	FILE *out = fopen("/dev/null", "w");

	assert_int_equal(opcode_table(out, profile__counts(p, 0), NULL, &o), -ENODATA);
	fclose(out);
	profile__free(p);
}

static int put_columns(FILE *out, const void *ctx)
{
	return annotate_put_columns(out, ctx);
}

static int put_instructions(FILE *out, const void *ctx)
{
	return annotate_put_instructions(out, ctx, false);
}

static void marks_are_below_their_text(void **state)
{
	const struct spot spots[] = {
		{ .column = 1, .end_column = 5, .self = 1, .total = 4 },
		{ .column = 3,
		  .end_column = 6,
		  .self = 2,
		  .total = 9 }, /* "é)": two bytes and one */
		{ .column = 40, .end_column = 50, .self = 1, .total = 1 }, /* from another file */
		{ .column = 2, .end_column = -1, .total = 1 },
	};
	const struct annotated_line l = { "\tf(\xc3\xa9)", spots, 4, 5, 10 };
	char *text = read_back(put_columns, &l);

	assert_non_null(strstr(text, " 10.00%        1  40.00%                 ^~~\n"));
	assert_non_null(strstr(text, " 20.00%        2  50.00%                   ^~\n"));
	assert_non_null(strstr(text, "column 41 to 50\n"));
	assert_non_null(strstr(text, " 10.00%                  ^..\n"));
	free(text);
}

static void instructions_say_what_they_evaluate(void **state)
{
	struct spot spots[] = {
		{ .column = 2, .end_column = 6, .unit = 9, .self = 3, .total = 3 },
		{ .column = 7, .end_column = 3, .unit = 2, .self = 1, .total = 1 },
		{ .column = 0, .end_column = 200, .unit = 4, .total = 1, .opcode = 0 },
	};
	const struct annotated_line l = { "f(g.x)", spots, 3, 9, 10 };
	char *text;

	spots[0].opcode = find(V_3_15, "LOAD_ATTR");
	spots[1].opcode = opcode_of(V_3_15, 255);
	text = read_back(put_instructions, &l);
	assert_non_null(
		strstr(text, "@18    LOAD_ATTR                          not specialised g.x)\n"));
	/* Sorted by position in the code; an unknown opcode is shown as a number. */
	assert_true(strstr(text, "@4     ") < strstr(text, "@18    "));
	assert_null(strstr(text, "@8     "));
	free(text);
}

/* They are in the dictionary (capture/import/code_listing.h) but on no stack. */
static void instructions_without_samples_have_no_numbers(void **state)
{
	struct profile *p = make();
	struct annotated_line l = { .text = "f(g(x), h(y))", .total = 18, .all = 20 };
	struct spots s;
	char *text;

	add_spot(p, "f", 4, 0, 5, 4, "LOAD_ATTR");
	add_spot(p, "f", 6, 0, 5, 40, "LOAD_FAST");
	/* It had samples while it was another instruction. */
	add_spot(p, "f", 4, 13, 17, 10, "CALL");
	assert_int_equal(spots_make(&s, profile__counts(p, 0)), 0);
	assert_int_equal(s.self, 18);
	assert_int_equal(spot_at(&s, 6, 0)->total, 0);
	l.spots = spots_of_line(&s, spot_at(&s, 4, 0)->file, 4, &l.spot_cnt);
	text = read_back(put_instructions, &l);
	assert_non_null(strstr(
		text,
		"                                 @8     LOAD_ATTR                          not specialised"));
	assert_null(strstr(text, "@20    CALL  "));
	assert_non_null(strstr(text, "@20    CALL_PY_EXACT_ARGS"));
	free(text);
	/* Of columns, only those with samples. */
	text = read_back(put_columns, &l);
	assert_null(strstr(text, "  ^~~~~\n"));
	free(text);
	spots_free(&s);
	profile__free(p);
}

static void names_are_of_their_version(void **state)
{
	char buf[OPCODE_NAME_SIZE];

	assert_string_equal(opcode_name(find(V_3_15, "LOAD_ATTR_PROPERTY"), buf),
			    "LOAD_ATTR_PROPERTY");
	assert_int_equal(opcode_form(find(V_3_15, "LOAD_ATTR_PROPERTY")), OPCODE_SPECIAL);
	assert_int_equal(opcode_form(find(V_3_15, "LOAD_ATTR")), OPCODE_GENERIC);
	assert_int_equal(opcode_form(find(V_3_15, "LOAD_FAST")), OPCODE_PLAIN);
	assert_int_equal(opcode_form(find(V_3_15, "INSTRUMENTED_CALL")), OPCODE_INSTRUMENTED);
	assert_int_equal(opcode_form(find(V_3_15, "ENTER_EXECUTOR")), OPCODE_JIT);
	assert_int_equal(opcode_form(find(0x030b0200, "LOAD_ATTR_ADAPTIVE")), OPCODE_GENERIC);
	assert_string_equal(opcode_name(opcode_of(0x03080000, 255), buf), "opcode 3.8:255");
	assert_int_equal(opcode_of(0x03070000, 100), 0);
	assert_int_equal(opcode_of(0x03100000, 100), 0);
	assert_int_equal(opcode_of(V_3_15, 0), 0);
	assert_string_equal(opcode_name(0, buf), "");
	assert_null(opcode_info(OPCODE_LIMIT - 1));
	for (unsigned i = 0; i < OPCODE_LIMIT; i++)
		assert_true(opcode_form((__u16)i) < OPCODE_FORM_CNT &&
			    strlen(opcode_name((__u16)i, buf)) < OPCODE_NAME_SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_add_up),
		cmocka_unit_test(a_page_has_rows_by_frame),
		cmocka_unit_test(a_report_says_what_is_not_specialised),
		cmocka_unit_test(opcodes_of_several_versions_say_which),
		cmocka_unit_test(without_opcodes_there_is_no_table),
		cmocka_unit_test(marks_are_below_their_text),
		cmocka_unit_test(instructions_say_what_they_evaluate),
		cmocka_unit_test(instructions_without_samples_have_no_numbers),
		cmocka_unit_test(names_are_of_their_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
