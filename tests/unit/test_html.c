/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_html.c - the page: its data is sound, agrees with the profile, and cannot break out.
 *
 * With KRAIT_PAGES=DIR it writes the files that tests/e2e/test_flamegraph_page.py and
 * test_speedscope.py open in a browser, and does nothing else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmd/formats.h"
#include "profile/view.h"
#include "support_profile.h"

static const struct emit_options options = {
	.recording.command_line = "krait record -o shop.html -- python3 main.py",
	.recording.host = "ada-laptop",
	.recording.kernel = "6.18.5",
	.recording.seconds = 10.031,
	.recording.frequency = 997,
};

/* The text between the data marker and the end of its script. */
static char *page_data(const char *page)
{
	static const char start[] = "<script type=\"application/json\" id=\"data\">";
	const char *from = strstr(page, start), *to;

	assert_non_null(from);
	from += strlen(start);
	to = strstr(from, "</script>");
	assert_non_null(to);
	return strndup(from, (size_t)(to - from));
}

/* Sum of the third number of each node. */
static unsigned long long self_sum(const char *data, unsigned *ret_nodes)
{
	const char *s = strstr(data, "\"nodes\":[");
	unsigned long long sum = 0, value;
	unsigned field = 0;
	char *end;

	assert_non_null(s);
	for (s += strlen("\"nodes\":["); *s != ']'; s = *end == ',' ? end + 1 : end) {
		value = strtoull(s, &end, 10);
		assert_ptr_not_equal(s, end);
		if (field++ % 3 == 2)
			sum += value;
	}
	assert_int_equal(field % 3, 0);
	*ret_nodes = field / 3;
	return sum;
}

static void check_page(struct profile *p)
{
	char *page = emit_text("html", p, &options), *data = page_data(page), *s;
	unsigned nodes;

	assert_true(strncmp(page, "<!DOCTYPE html>", 15) == 0);
	assert_null(strstr(page, "KRAIT:"));
	assert_int_equal(self_sum(data, &nodes), sample_cnt(p));
	assert_int_equal(nodes, dict__node_cnt(p->dict) + 1);
	/* Nothing in the data can start markup or end a line of script. */
	for (s = data; *s; s++) {
		assert_int_not_equal(*s, '<');
		assert_true((unsigned char)*s >= 0x20 || *s == '\n');
	}
	assert_null(strstr(data, "\xe2\x80\xae"));
	free(data);
	free(page);
	profile__free(p);
}

static void all_samples_of_a_small_profile_are_in_the_page(void **state)
{
	check_page(small_profile());
}

static void hostile_names_stay_inside_the_data(void **state)
{
	check_page(hostile_profile());
}

static void stacks_of_2000_frames_are_kept_whole(void **state)
{
	check_page(deep_profile(2000));
}

static void an_empty_profile_gives_a_page(void **state)
{
	check_page(profile__new());
}

static void a_tree_beyond_the_bound_loses_boxes_but_no_samples(void **state)
{
	struct profile *p = large_profile(1200000);
	char *page = emit_text("html", p, &options), *data = page_data(page);
	unsigned nodes;

	assert_int_equal(self_sum(data, &nodes), sample_cnt(p));
	assert_true(nodes < dict__node_cnt(p->dict));
	assert_true(nodes > 1000);
	free(data);
	free(page);
	profile__free(p);
}

static void a_page_loads_nothing(void **state)
{
	struct profile *p = small_profile();
	char *page = emit_text("html", p, &options);

	assert_null(strstr(page, "http:"));
	assert_null(strstr(page, "https:"));
	assert_null(strstr(page, "@import"));
	assert_null(strstr(page, "url("));
	assert_null(strstr(page, "innerHTML"));
	assert_non_null(strstr(page, "default-src 'none'"));
	free(page);
	profile__free(p);
}

static void a_full_disk_is_reported(void **state)
{
	const struct emitter_ops *ops = format_by_suffix("x.html");
	struct profile *p = small_profile();
	struct emitter *e;
	FILE *out = fopen("/dev/full", "w");

	assert_non_null(out);
	assert_int_equal(ops->open(&e, out, &options), 0);
	assert_true(ops->finish(e, p, 0) < 0);
	ops->free(e);
	fclose(out);
	profile__free(p);
}

static void write_file(const char *dir, const char *name, const char *format, struct profile *p)
{
	char path[512], *text = emit_text(format, p, &options);
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s.%s", dir, name, format);
	out = fopen(path, "w");
	if (!out || fputs(text, out) < 0 || fclose(out)) {
		perror(path);
		exit(1);
	}
	free(text);
	profile__free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_samples_of_a_small_profile_are_in_the_page),
		cmocka_unit_test(hostile_names_stay_inside_the_data),
		cmocka_unit_test(stacks_of_2000_frames_are_kept_whole),
		cmocka_unit_test(an_empty_profile_gives_a_page),
		cmocka_unit_test(a_tree_beyond_the_bound_loses_boxes_but_no_samples),
		cmocka_unit_test(a_page_loads_nothing),
		cmocka_unit_test(a_full_disk_is_reported),
	};
	const char *dir = getenv("KRAIT_PAGES");

	if (!dir)
		return cmocka_run_group_tests(tests, NULL, NULL);
	write_file(dir, "small", "html", small_profile());
	write_file(dir, "hostile", "html", hostile_profile());
	write_file(dir, "small", "speedscope", small_profile());
	write_file(dir, "hostile", "speedscope", hostile_profile());
	write_file(dir, "deep", "html", deep_profile(2000));
	write_file(dir, "large", "html", large_profile(10000));
	write_file(dir, "huge", "html", large_profile(300000));
	write_file(dir, "empty", "html", profile__new());
	write_file(dir, "small", "folded", small_profile());
	write_file(dir, "small", "script", small_profile());
	write_file(dir, "hostile", "folded", hostile_profile());
	write_file(dir, "hostile", "script", hostile_profile());
	return 0;
}
