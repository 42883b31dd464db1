/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_folded_reader.c - folded text from any tool, valid and invalid.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "capture/import/folded_reader.h"
#include "support_profile.h"

static struct profile *read_bytes(const char *text, size_t len, struct folded_stats *stats)
{
	struct profile *p = profile__new();
	FILE *in = fmemopen((void *)(uintptr_t)text, len, "r");

	assert_non_null(in);
	assert_int_equal(folded_read(profile__counts(p, 0), in, NULL, stats), 0);
	fclose(in);
	return p;
}

static struct profile *read_text(const char *text, struct folded_stats *stats)
{
	return read_bytes(text, strlen(text), stats);
}

static void frames_are_taken_apart(void **state)
{
	static const struct {
		const char *frame, *name, *file;
		int line;
	} cases[] = {
		{ "f", "f", "", -1 },
		{ "f (x.py)", "f", "x.py", -1 },
		{ "f (x.py:12)", "f", "x.py", 12 },
		{ "C.<locals>.<lambda> (a b/x.py:3)", "C.<locals>.<lambda>", "a b/x.py", 3 },
		{ "f (g.py:3) (h.py:4)", "f (g.py:3)", "h.py", 4 },
		{ "f (x.py:0)", "f", "x.py:0", -1 },
		{ "f (x.py:99999999999)", "f", "x.py:99999999999", -1 },
		{ "f (:3)", "f", ":3", -1 },
		{ "std::vector<int>::push_back(int const&)",
		  "std::vector<int>::push_back(int const&)", "", -1 },
		{ "(x.py)", "(x.py)", "", -1 },
		{ "f ()", "f ()", "", -1 },
		{ "", "", "", -1 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct folded_stats stats;
		char line[256];
		struct profile *p;
		const struct profile_frame *f;

		snprintf(line, sizeof(line), "root;%s 7\n", cases[i].frame);
		p = read_text(line, &stats);
		assert_int_equal(stats.stacks, 1);
		assert_int_equal(counts__at(profile__counts(p, 0), 2).samples, 7);
		f = dict__frame_at(p->dict, dict__node_at(p->dict, 2)->frame);
		assert_string_equal(dict__text(p->dict, f->name), cases[i].name);
		assert_string_equal(dict__text(p->dict, f->file), cases[i].file);
		assert_int_equal(f->line, cases[i].line);
		assert_int_equal(f->kind, FRAME_PYTHON);
		profile__free(p);
	}
}

static void a_process_and_a_mark_are_recognised(void **state)
{
	struct folded_stats stats;
	struct profile *p = read_text("python3;<module> (a.py:1);[truncated: depth] 1\n"
				      "main;work 2\n",
				      &stats);

	assert_int_equal(dict__frame_at(p->dict, dict__node_at(p->dict, 1)->frame)->kind,
			 FRAME_PROCESS);
	assert_int_equal(dict__frame_at(p->dict, dict__node_at(p->dict, 3)->frame)->kind,
			 FRAME_MARK);
	assert_int_equal(dict__frame_at(p->dict, dict__node_at(p->dict, 4)->frame)->kind,
			 FRAME_PYTHON);
	profile__free(p);
}

static void lines_that_are_no_stacks_are_counted(void **state)
{
	static const char text[] = "a;b 3\nno count\n\n# a comment\nnumber 12x\na;b -3\n 5\n"
				   "a;b 99999999999999999999\nx\0y 4\na;c 2.75\r\nlast 1";
	struct folded_stats stats;
	struct profile *p = read_bytes(text, sizeof(text) - 1, &stats);

	assert_int_equal(stats.lines, 11);
	assert_int_equal(stats.malformed, 6);
	assert_int_equal(stats.first_malformed, 2);
	assert_int_equal(stats.stacks, 3);
	assert_int_equal(stats.samples, 6);
	assert_int_equal(sample_cnt(p), 6);
	profile__free(p);
}

static void sums_do_not_overflow(void **state)
{
	struct folded_stats stats;
	struct profile *p = read_text("a 4611686018427387904\na 1\n", &stats);

	assert_int_equal(stats.malformed, 1);
	assert_int_equal(sample_cnt(p), FOLDED_MAX_SAMPLES);
	profile__free(p);
}

static void a_line_beyond_the_bound_is_skipped_whole(void **state)
{
	size_t len = FOLDED_MAX_LINE + 100;
	char *text = malloc(len + 64);
	struct folded_stats stats;
	struct profile *p;

	memset(text, 'a', len);
	strcpy(text + len, " 5\nb 2\n");
	p = read_text(text, &stats);
	assert_int_equal(stats.lines, 2);
	assert_int_equal(stats.malformed, 1);
	assert_int_equal(stats.samples, 2);
	profile__free(p);
	free(text);
}

static void what_krait_writes_comes_back_the_same(void **state)
{
	struct profile *profiles[] = { small_profile(), deep_profile(2000), large_profile(3000) };
	const struct emit_options options = { .lines = true };
	size_t i;

	for (i = 0; i < 3; i++) {
		char *text = emit_text("folded", profiles[i], &options), *again;
		struct folded_stats stats;
		struct profile *p = read_text(text, &stats);

		assert_int_equal(stats.malformed, 0);
		assert_int_equal(stats.samples, sample_cnt(profiles[i]));
		again = emit_text("folded", p, &options);
		assert_string_equal(again, text);
		free(again);
		free(text);
		profile__free(p);
		profile__free(profiles[i]);
	}
}

static void a_failing_file_is_an_error(void **state)
{
	struct profile *p = profile__new();
	struct folded_stats stats;
	FILE *in = fopen("/", "r");

	assert_non_null(in);
	assert_true(folded_read(profile__counts(p, 0), in, NULL, &stats) < 0);
	fclose(in);
	profile__free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_taken_apart),
		cmocka_unit_test(a_process_and_a_mark_are_recognised),
		cmocka_unit_test(lines_that_are_no_stacks_are_counted),
		cmocka_unit_test(sums_do_not_overflow),
		cmocka_unit_test(a_line_beyond_the_bound_is_skipped_whole),
		cmocka_unit_test(what_krait_writes_comes_back_the_same),
		cmocka_unit_test(a_failing_file_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
