/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_folded.c - folded text: golden files, hostile names, and the rules that readers depend on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmd/common/formats.h"
#include "capture/import/folded_reader.h"
#include "profile/frames.h"
#include "support_profile.h"

static void golden(const char *name, struct profile *p, const struct emit_options *options)
{
	char *text = emit_text("folded", p, options);

	assert_golden(name, text);
	free(text);
	profile__free(p);
}

static void functions_with_their_process(void **state)
{
	const struct emit_options options = { 0 };

	golden("small.folded", small_profile(), &options);
}

static void lines_with_threads(void **state)
{
	const struct emit_options options = { .lines = true, .threads = true };

	golden("small-lines-threads.folded", small_profile(), &options);
}

static void no_process_when_asked_not_to(void **state)
{
	const struct emit_options options = { .no_process = true };

	golden("small-no-process.folded", small_profile(), &options);
}

static void hostile_names_stay_one_frame(void **state)
{
	const struct emit_options options = { .lines = true };

	golden("hostile.folded", hostile_profile(), &options);
}

/* The rule of flamegraph.pl, inferno and speedscope: "(.*) (digits)", frames separated by ";". */
static void every_line_is_a_stack_and_the_counts_sum_up(void **state)
{
	struct profile *profiles[] = { small_profile(), hostile_profile(), deep_profile(2000),
				       large_profile(3000) };
	const struct emit_options options = { .lines = true, .threads = true };
	size_t i;

	for (i = 0; i < 4; i++) {
		char *text = emit_text("folded", profiles[i], &options), *line, *rest = text,
		     *blank, *end;
		__u64 sum = 0;

		while ((line = strsep(&rest, "\n")) && *line) {
			blank = strrchr(line, ' ');
			assert_non_null(blank);
			sum += strtoull(blank + 1, &end, 10);
			assert_true(end > blank + 1 && !*end);
			assert_null(strstr(line, ";;"));
			for (; *line; line++)
				assert_true((unsigned char)*line >= 0x20);
		}
		assert_int_equal(sum, sample_cnt(profiles[i]));
		free(text);
		profile__free(profiles[i]);
	}
}

static void a_name_never_splits_into_two_frames(void **state)
{
	struct profile *p = hostile_profile();
	const struct emit_options options = { 0 };
	char *text = emit_text("folded", p, &options), *line, *rest = text, *semicolon;
	unsigned lines = 0;

	while ((line = strsep(&rest, "\n")) && *line) {
		semicolon = strchr(line, ';');
		assert_non_null(semicolon);
		assert_memory_equal(line, "my_py:thon\\n", semicolon - line);
		assert_null(strchr(semicolon + 1, ';'));
		lines++;
	}
	assert_int_equal(lines, dict__node_cnt(p->dict) - 1);
	free(text);
	profile__free(p);
}

/* As in many programs: threads named after the program or their pool. */
static void threads_of_one_name_stay_apart(void **state)
{
	const struct emit_options options = { .threads = true, .no_process = true };
	struct profile *p = profile__new();
	__u32 process = dict__named_child(p->dict, 0, FRAME_PROCESS, "prog", 5, 0);
	char *text;

	for (int tid = 6; tid < 9; tid++)
		counts__add(profile__counts(p, 0),
			    dict__named_child(p->dict, process, FRAME_THREAD, "pool", 5, tid), 1,
			    1);
	text = emit_text("folded", p, &options);
	assert_string_equal(text, "pool/6 1\npool/7 1\npool/8 1\n");
	free(text);
	profile__free(p);
}

static void a_stack_without_room_is_a_line_too(void **state)
{
	const struct emit_options options = { 0 };
	struct profile *p = profile__new();
	char *text;

	counts__add(profile__counts(p, 0), 0, 5, 5);
	text = emit_text("folded", p, &options);
	assert_string_equal(text, "[no room for the stack] 5\n");
	free(text);
	profile__free(p);
}

static void formats_are_found_by_name_and_by_suffix(void **state)
{
	static const struct {
		const char *path, *name;
	} cases[] = {
		{ "out.folded", "folded" },
		{ "a.b/out.txt", "folded" },
		{ "out.perf.txt", "script" },
		{ "x.script", "script" },
		{ "x.html", "html" },
		{ "x.svg", "svg" },
		{ "x.svgz", NULL },
		{ ".html", NULL },
		{ "html", NULL },
		{ "", NULL },
	};
	static const char *const names[] = { "perf",   "folded",     "html",	"script",
					     "pprof",  "speedscope", "firefox", "callgrind",
					     "pstats", "jsonl",	     "svg" };
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct emitter_ops *ops = format_by_suffix(cases[i].path);

		if (cases[i].name)
			assert_string_equal(ops->name, cases[i].name);
		else
			assert_null(ops);
	}
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_string_equal(format_by_name(names[i])->name, names[i]);
	assert_null(format_by_name("png"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_with_their_process),
		cmocka_unit_test(lines_with_threads),
		cmocka_unit_test(threads_of_one_name_stay_apart),
		cmocka_unit_test(no_process_when_asked_not_to),
		cmocka_unit_test(hostile_names_stay_one_frame),
		cmocka_unit_test(every_line_is_a_stack_and_the_counts_sum_up),
		cmocka_unit_test(a_name_never_splits_into_two_frames),
		cmocka_unit_test(a_stack_without_room_is_a_line_too),
		cmocka_unit_test(formats_are_found_by_name_and_by_suffix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
