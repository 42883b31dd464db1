/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_native_names.c - names of native code stored in a capture: what goes in comes out, and any
 * text may come in.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "capture/dso/native_names.h"
#include "profile/frames.h"
#include "profile/parts.h"
#include "profile/profile.h"

static const char *name_of(const struct native_names *n, const char *path, __u64 offset)
{
	const struct native_name *found = native_names_find(n, path, offset);

	return found ? native_names_text(n, found->name) : "";
}

static char *written(const struct native_names *n)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fputs("milliseconds 5\n", out);
	native_names_write(n, NULL, out);
	fputs("user 5 root\n", out);
	fclose(out);
	return text;
}

static void add(struct native_names *n, const char *path, __u64 offset, const char *name)
{
	assert_int_equal(native_names_add(n, path, offset, name, 0), 0);
}

static void what_was_put_in_comes_out(void **state)
{
	struct native_names n = { 0 }, read = { 0 };
	char *text;

	add(&n, "/lib/b c.so", 0x1234, "operator new(unsigned long)");
	add(&n, "/lib/a.so", 0x10, "f");
	add(&n, "/lib/b c.so", 0xffffffffffULL, "g");
	add(&n, "/lib/a.so", 0x10, "another"); /* it already has a name */
	text = written(&n);
	assert_string_equal(text, "milliseconds 5\n"
				  "native /lib/b c.so\n"
				  " 1234 operator new(unsigned long)\n"
				  " ffffffffff g\n"
				  "native /lib/a.so\n"
				  " 10 f\n"
				  "user 5 root\n");
	assert_int_equal(native_names_read(&read, text), 0);
	assert_int_equal(read.cnt, 3);
	assert_string_equal(name_of(&read, "/lib/b c.so", 0x1234), "operator new(unsigned long)");
	assert_string_equal(name_of(&read, "/lib/a.so", 0x10), "f");
	assert_null(native_names_find(&read, "/lib/a.so", 0x1234));
	assert_null(native_names_find(&read, "/lib/c.so", 0x10));
	free(text);
	native_names_free(&n);
	native_names_free(&read);
	assert_null(native_names_find(&read, "/lib/a.so", 0x10));
}

static void a_name_of_two_lines_is_left_out(void **state)
{
	struct native_names n = { 0 };
	char *text;

	add(&n, "/lib/a.so", 1, "f\nnative /etc/passwd");
	add(&n, "/lib/b\n.so", 1, "f");
	text = written(&n);
	assert_string_equal(text, "milliseconds 5\nuser 5 root\n");
	free(text);
	native_names_free(&n);
}

static void any_text_may_come_in(void **state)
{
	static const char *const texts[] = { "",
					     "native ",
					     "native",
					     " 5 f",
					     "native \n 5 f",
					     "native x\n 5",
					     "native x\n  f",
					     "native x\nmilliseconds 5\n 5 f",
					     "native x\n g f" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct native_names n = { 0 };

		assert_int_equal(native_names_read(&n, texts[i]), 0);
		assert_int_equal(n.cnt, 0);
		native_names_free(&n);
	}
}

static void there_is_a_bound(void **state)
{
	struct native_names n = { 0 };

	for (__u64 i = 0; i < NATIVE_NAMES_MAX + 10; i++)
		add(&n, "/lib/a.so", i, "f");
	assert_int_equal(n.cnt, NATIVE_NAMES_MAX);
	assert_string_equal(name_of(&n, "/lib/a.so", NATIVE_NAMES_MAX - 1), "f");
	native_names_free(&n);
}

/* For a place with an inlined function, as written by a recording and found by a reader. */
static void source_lines_come_out_as_well(void **state)
{
	const struct native_place place = {
		.name = "m.f", .path = "/lib/a.so", .is_wrapper = true, .is_interpreter = true
	};
	const struct source_frame lines[] = { { NULL, "a.c", 7 },
					      { "g", "b c.h", 3 },
					      { NULL, NULL, 0 } };
	struct profile *p = profile__new();
	struct native_names n = { 0 }, read = { 0 };
	const struct native_name *found;
	__u32 frame = frame_native(p->dict, &place);
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(parts_add(p->dict, frame, &place, lines, 3, true), 0);
	assert_int_equal(native_names_add(&n, "/lib/a.so", 0x10, "m.f", frame), 0);
	native_names_write(&n, p->dict, out);
	fclose(out);
	assert_string_equal(text,
			    "native /lib/a.so\n 10 m.f\n = wrapper\n = interpreter\n = 7 a.c\n"
			    " = 3 b c.h\tg\n = 0 \t[unknown]\n");
	assert_int_equal(native_names_read(&read, text), 0);
	found = native_names_find(&read, "/lib/a.so", 0x10);
	assert_non_null(found);
	assert_true(found->is_wrapper);
	assert_true(found->is_interpreter);
	assert_int_equal(found->line_cnt, 3);
	assert_int_equal(read.lines[found->first_line].line, 7);
	assert_string_equal(native_names_text(&read, read.lines[found->first_line + 1].source),
			    "b c.h");
	assert_string_equal(native_names_text(&read, read.lines[found->first_line + 1].name), "g");
	assert_int_equal(read.lines[found->first_line + 2].source, 0);
	native_names_free(&n);
	native_names_free(&read);
	profile__free(p);
	free(text);
}

/* Its frame's name at the time of writing; code that is named after its file has no name. */
static void a_name_may_come_with_its_frame(void **state)
{
	const struct native_place places[] = {
		{ .name = "[a.so]", .path = "/lib/a.so", .address = 1, .number = 1 },
		{ .name = "[a.so]", .path = "/lib/a.so", .address = 2, .number = 1 },
	};
	struct profile *p = profile__new();
	struct native_names n = { 0 };
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(native_names_add(&n, "/lib/a.so", 0x10 + i, NULL,
						  frame_native(p->dict, &places[i])),
				 0);
	assert_int_equal(dict__name_frame(p->dict, n.list[1].frame, "f", false), 0);
	native_names_write(&n, p->dict, out);
	/* Without the dictionary there are no names. */
	native_names_write(&n, NULL, out);
	fclose(out);
	assert_string_equal(text, "native /lib/a.so\n 11 f\n");
	native_names_free(&n);
	profile__free(p);
	free(text);
}

static void lines_of_nothing_and_without_end_are_no_lines(void **state)
{
	struct native_names n = { 0 };
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fputs(" = 1 a.c\nnative /lib/a.so\n = 2 a.c\n 10 f\n = -3 a.c\n = 99999999999 a.c\n = x\n"
	      " = 5\n = wrappers\n 10 again\n = 4 a.c\n 20 g\n",
	      out);
	for (int i = 0; i < 1000; i++)
		fputs(" = 1 a.c\th\n", out);
	fclose(out);
	assert_int_equal(native_names_read(&n, text), 0);
	assert_int_equal(n.cnt, 2);
	assert_int_equal(n.list[0].line_cnt, 2);
	assert_int_equal(n.lines[0].line, 0);
	assert_int_equal(n.lines[1].line, 0);
	assert_false(n.list[0].is_wrapper);
	assert_int_equal(n.list[1].line_cnt, NATIVE_LINES_MAX);
	native_names_free(&n);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_put_in_comes_out),
		cmocka_unit_test(a_name_of_two_lines_is_left_out),
		cmocka_unit_test(any_text_may_come_in),
		cmocka_unit_test(there_is_a_bound),
		cmocka_unit_test(source_lines_come_out_as_well),
		cmocka_unit_test(a_name_may_come_with_its_frame),
		cmocka_unit_test(lines_of_nothing_and_without_end_are_no_lines),
	};

	return cmocka_run_group_tests_name("native names", tests, NULL, NULL);
}
