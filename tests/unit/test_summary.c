/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_summary.c - the table and the tree as text; their numbers agree with the other outputs.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "output/escape.h"
#include "capture/import/folded_reader.h"
#include "output/text/call_tree.h"
#include "output/text/summary.h"
#include "output/text/thread_table.h"
#include "profile/frames.h"
#include "support_profile.h"
#include "base/text/short_path.h"

static char *print(struct profile *p, const struct summary_options *o, bool tree)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal((tree ? call_tree : summary_table)(out, profile__counts(p, 0), o), 0);
	fclose(out);
	return text;
}

static void golden(const char *name, struct profile *p, const struct summary_options *o, bool tree)
{
	char *text = print(p, o, tree);

	assert_golden(name, text);
	free(text);
	profile__free(p);
}

static void a_piped_table_is_plain_and_as_wide_as_needed(void **state)
{
	const struct summary_options o = { .limit = 20 };

	golden("small-summary.txt", small_profile(), &o, false);
}

static void by_total_and_by_line(void **state)
{
	const struct summary_options o = { .sort = SUMMARY_TOTAL, .lines = true, .limit = 5 };

	golden("small-summary-total-lines.txt", small_profile(), &o, false);
}

static void the_tree_is_cut_at_the_least_share(void **state)
{
	const struct summary_options o = { .min_percent = 5, .tree_processes = true };

	golden("small-tree.txt", small_profile(), &o, true);
}

static void samples_are_numbers_where_that_is_asked_for(void **state)
{
	const struct summary_options o = { .limit = 20, .samples = true };

	golden("small-summary-samples.txt", small_profile(), &o, false);
}

static void a_chain_of_calls_is_not_indented(void **state)
{
	const struct summary_options o = { .width = 80, .ascii = true };

	golden("small-tree-ascii.txt", small_profile(), &o, true);
}

/* Whose code it is, below the functions; not where all is one's own. */
static void a_second_block_says_whose_code_it_is(void **state)
{
	const struct summary_options o = { .limit = 1, .origins = 2 };
	struct profile *p = profile__new();
	char *text;

	assert_non_null(p);
	add_samples(p, push(p, 0, add_function(p, "mine", "/srv/app.py", 3, 4)), 6);
	text = print(p, &o, false);
	assert_null(strstr(text, "Origin"));
	free(text);
	add_samples(p,
		    push(p, 0,
			 add_function(p, "get", "/usr/lib/python3/dist-packages/requests/api.py", 3,
				      4)),
		    3);
	add_samples(p,
		    push(p, 0,
			 add_function(p, "dumps", "/usr/lib/python3.11/json/__init__.py", 3, 4)),
		    1);
	text = print(p, &o, false);
	assert_non_null(strstr(text, "2 more\n\n  Self  Total Self time  Origin\n"
				     " 60.0%  60.0%      6 ms  own code\n"
				     " 30.0%  30.0%      3 ms  requests\n"));
	assert_non_null(strstr(text, "1 more\n\n10 samples: 10 ms of CPU time\n"));
	free(text);
	profile__free(p);
}

/* What every interrupt was is for who asks. */
static void accounts_are_said_where_they_are_asked_for(void **state)
{
	const struct summary_options o = { .limit = 1 }, all = { .limit = 1, .stats = true };
	const char *const books =
		"\n1002 interrupts = 997 complete + 3 truncated (depth 3) + 2 lost (ring full 2)\n";
	struct profile *p = small_profile();
	char *text = print(p, &o, false), *more = print(p, &all, false);

	assert_null(strstr(text, "interrupts"));
	assert_non_null(
		strstr(text, "\n1,000 samples, 2 of 1,002 lost (0.20%): 1.00 s of CPU time\n"));
	assert_non_null(strstr(more, books));
	free(text);
	free(more);
	profile__free(p);
}

/* Before cutting, drops what says least, in all rows, so that they look alike. */
static void narrow_rows_lose_what_says_least(void **state)
{
	const struct summary_options o = { .width = 80, .ascii = true };
	struct profile *p = profile__new();
	const char *names[] = { "_make_iterencode.<locals>._iterencode_dict", "dumps", "wait" };
	const char *files[] = { "/usr/lib/python3.15/json/encoder.py",
				"/usr/lib/python3.15/json/__init__.py",
				"/usr/lib/python3.15/concurrent/futures/thread.py" };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(p);
	assert_non_null(out);
	for (int i = 0; i < 3; i++)
		add_samples(p, push(p, 0, add_function(p, names[i], files[i], 3, 4)), 3 - i);
	assert_int_equal(summary_table(out, profile__counts(p, 0), &o), 0);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, "  _make_iterencode._iterencode_dict  encoder.py:3\n"));
	assert_non_null(strstr(text, "  dumps                              json/__init__.py:3\n"));
	assert_non_null(strstr(text, "  wait                               thread.py:3\n"));
	free(text);
	profile__free(p);
}

static char *print_kernel_tree(__u32 depth, bool can_leave_kernel)
{
	const struct summary_options o = { .can_leave_kernel = can_leave_kernel };
	struct profile *p = profile__new();
	char *text = NULL, name[16];
	size_t size;
	FILE *out = open_memstream(&text, &size);
	__u32 node;

	assert_non_null(p);
	assert_non_null(out);
	node = push(p, 0, add_function(p, "read", "/app/main.py", 3, 4));
	for (__u32 i = 0; i < depth; i++) {
		snprintf(name, sizeof(name), "vfs_%u", i);
		node = push(p, node,
			    dict__plain_frame(p->dict, FRAME_KERNEL, name, "[kernel.kallsyms]", 0));
	}
	add_samples(p, node, 10);
	assert_int_equal(call_tree(out, profile__counts(p, 0), &o), 0);
	assert_int_equal(fclose(out), 0);
	profile__free(p);
	return text;
}

static void much_of_the_kernel_can_be_left_out(void **state)
{
	const char *hint = "\n11 rows are kernel functions (--no-kernel)\n";
	char *many = print_kernel_tree(11, true), *few = print_kernel_tree(10, true),
	     *folded = print_kernel_tree(11, false);

	assert_non_null(strstr(many, hint));
	assert_null(strstr(few, "--no-kernel"));
	/* Folded stacks do not say what is kernel code. */
	assert_null(strstr(folded, "--no-kernel"));
	free(many);
	free(few);
	free(folded);
}

static char *print_callers(struct profile *p, const char *pattern, const struct summary_options *o,
			   int want)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(callers_tree(out, profile__counts(p, 0), pattern, o), want);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void callers_go_from_the_function_to_the_root(void **state)
{
	const struct summary_options o = { .samples = true };
	struct profile *p = small_profile();
	char *text = print_callers(p, "walk", &o, 0);

	/* Recursion counts once, at the outermost call, like the function's total in the table. */
	assert_golden("small-callers.txt", text);
	free(text);
	free(print_callers(p, "nothing of that name", &o, -ENOENT));
	profile__free(p);
}

static void callers_add_up_to_the_total(void **state)
{
	const struct summary_options o = { .samples = true };
	struct profile *p = deep_profile(300);
	char *text = print_callers(p, "*", &o, 0), *line, *rest = text;
	unsigned long long samples;
	double total;
	unsigned roots = 0;

	/* Each function is a root here and has the table's numbers. */
	while ((line = strsep(&rest, "\n"))) {
		if (sscanf(line, " %lf%% %llu", &total, &samples) == 2)
			roots++;
	}
	assert_true(roots > 300);
	free(text);
	profile__free(p);
}

static char *print_programs(struct profile *p)
{
	const struct summary_options o = { .limit = 20, .samples = true };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(program_table(out, profile__counts(p, 0), &o), 0);
	assert_int_equal(fclose(out), 0);
	profile__free(p);
	return text;
}

/* So many programs with two processes each; later ones have more samples. */
static struct profile *programs_profile(unsigned cnt)
{
	struct profile *p = profile__new();
	char name[16];

	for (unsigned i = 0; i < 2 * cnt; i++) {
		__u32 process;

		snprintf(name, sizeof(name), "program %u", i / 2);
		process = push(p, 0, add_process(p, name, 100 + (int)i));
		add_samples(p, push(p, process, add_function(p, "f", "/f.py", 1, 2)), i / 2 + 1);
	}
	return p;
}

static void programs_are_above_where_there_are_several(void **state)
{
	char *text = print_programs(programs_profile(2));

	assert_string_equal(text, " Share   Samples  Program\n"
				  " 66.7%         4  program 1\n"
				  " 33.3%         2  program 0\n\n");
	free(text);
	text = print_programs(programs_profile(7));
	assert_non_null(strstr(text, "  program 2\n… 2 more\n\n"));
	assert_null(strstr(text, "  program 1\n"));
	free(text);
	text = print_programs(programs_profile(1));
	assert_string_equal(text, "");
	free(text);
}

/* Stacks of other tools may begin with any function, which is not a program. */
static void functions_are_no_programs(void **state)
{
	struct profile *p = profile__new();
	char *text;

	add_samples(p, push(p, 0, add_function(p, "main", "/a.py", 1, 2)), 2);
	add_samples(p, push(p, 0, add_function(p, "worker", "/a.py", 3, 4)), 3);
	text = print_programs(p);
	assert_string_equal(text, "");
	free(text);
}

static void hostile_names_are_harmless(void **state)
{
	const struct summary_options o = { 0 };

	golden("hostile-summary.txt", hostile_profile(), &o, false);
}

static void a_row_fits_the_terminal(void **state)
{
	unsigned width;

	for (width = 60; width < 140; width += 7) {
		const struct summary_options o = { .width = width };
		struct profile *p = small_profile();
		char *text = print(p, &o, false), *line, *rest = text;

		while ((line = strsep(&rest, "\n")) && !strstr(line, " samples"))
			assert_true(text_width(line) <= width);
		free(text);
		profile__free(p);
	}
}

static void colours_only_when_asked_for(void **state)
{
	struct summary_options o = { .color = true };
	struct profile *p = small_profile();
	char *text = print(p, &o, false);

	assert_non_null(strstr(text, "\x1b["));
	free(text);
	o.color = false;
	text = print(p, &o, false);
	assert_null(strchr(text, '\x1b'));
	free(text);
	profile__free(p);
}

static void a_file_is_no_terminal(void **state)
{
	struct summary_options o;
	FILE *out = tmpfile();

	summary_options_init(&o, out);
	assert_int_equal(o.width, 0);
	assert_false(o.color);
	fclose(out);
}

static void a_tree_of_2000_levels_stays_readable(void **state)
{
	const struct summary_options o = { .width = 100 };
	struct profile *p = deep_profile(2000);
	char *text = print(p, &o, true), *line, *rest = text;
	unsigned lines = 0;

	while ((line = strsep(&rest, "\n"))) {
		assert_true(strlen(line) < 100);
		lines++;
	}
	assert_true(lines > 4000);
	free(text);
	profile__free(p);
}

/* Returns the sum of the third column's samples over all rows. */
static __u64 sum_of_rows(const char *text)
{
	unsigned long long sum = 0, samples;
	double self, total;
	const char *line;

	for (line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (sscanf(line, " %lf%% %lf%% %llu", &self, &total, &samples) == 3)
			sum += samples;
	return sum;
}

static void summary_and_folded_text_agree(void **state)
{
	struct profile *profiles[] = { small_profile(), deep_profile(300), large_profile(3000) };
	const struct emit_options options = { .lines = true };
	const struct summary_options o = { .lines = true, .samples = true };
	size_t i;

	for (i = 0; i < 3; i++) {
		char *folded = emit_text("folded", profiles[i], &options), *direct, *read;
		FILE *in = fmemopen(folded, strlen(folded), "r");
		struct profile *p = profile__new();
		struct folded_stats stats;

		assert_int_equal(folded_read(profile__counts(p, 0), in, NULL, &stats), 0);
		fclose(in);
		direct = print(profiles[i], &o, false);
		read = print(p, &o, false);
		assert_int_equal(sum_of_rows(direct), sample_cnt(profiles[i]));
		assert_int_equal(sum_of_rows(read), sample_cnt(profiles[i]));
		free(direct);
		free(read);
		free(folded);
		profile__free(p);
		profile__free(profiles[i]);
	}
}

static void paths_are_short_and_still_told_apart(void **state)
{
	static const char *const cases[][2] = {
		{ "/home/ada/shop/cart.py", "cart.py" },
		{ "/usr/lib/python3.14/json/decoder.py", "json/decoder.py" },
		{ "/opt/lib/python3.13t/re/__init__.py", "re/__init__.py" },
		{ "/v/lib/python3.14/site-packages/django/db/models.py", "django/db/models.py" },
		{ "/usr/lib/python3/dist-packages/apt/cache.py", "apt/cache.py" },
		{ "/home/ada/shop/web/__init__.py", "web/__init__.py" },
		{ "/__main__.py", "__main__.py" },
		{ "/home/python3.py", "python3.py" },
		{ "<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>" },
		{ "rel/a.py", "rel/a.py" },
		{ "/dir/", "/dir/" },
		{ "", "" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(short_path(cases[i][0]), cases[i][1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_piped_table_is_plain_and_as_wide_as_needed),
		cmocka_unit_test(by_total_and_by_line),
		cmocka_unit_test(the_tree_is_cut_at_the_least_share),
		cmocka_unit_test(samples_are_numbers_where_that_is_asked_for),
		cmocka_unit_test(a_chain_of_calls_is_not_indented),
		cmocka_unit_test(a_second_block_says_whose_code_it_is),
		cmocka_unit_test(accounts_are_said_where_they_are_asked_for),
		cmocka_unit_test(narrow_rows_lose_what_says_least),
		cmocka_unit_test(much_of_the_kernel_can_be_left_out),
		cmocka_unit_test(callers_go_from_the_function_to_the_root),
		cmocka_unit_test(callers_add_up_to_the_total),
		cmocka_unit_test(programs_are_above_where_there_are_several),
		cmocka_unit_test(functions_are_no_programs),
		cmocka_unit_test(hostile_names_are_harmless),
		cmocka_unit_test(a_row_fits_the_terminal),
		cmocka_unit_test(colours_only_when_asked_for),
		cmocka_unit_test(a_file_is_no_terminal),
		cmocka_unit_test(a_tree_of_2000_levels_stays_readable),
		cmocka_unit_test(summary_and_folded_text_agree),
		cmocka_unit_test(paths_are_short_and_still_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
