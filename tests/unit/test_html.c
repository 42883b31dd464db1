/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_html.c - the page: its data is valid, agrees with the profile, and cannot break out.
 *
 * With KRAIT_PAGES=DIR it only writes the files that tests/e2e/test_flamegraph_page.py and
 * test_speedscope.py open in a browser.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmd/common/formats.h"
#include "profile/states.h"
#include "profile/view.h"
#include "support_pages.h"
#include "support_profile.h"
#include "support_timed.h"

/* Returns the text between the data marker and the end of its script. */
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

/* Returns the sum of each node's third number. */
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
	char *page = emit_text("html", p, &pages_options), *data = page_data(page), *s;
	unsigned nodes;

	assert_true(strncmp(page, "<!DOCTYPE html>", 15) == 0);
	assert_null(strstr(page, "KRAIT:"));
	assert_int_equal(self_sum(data, &nodes), sample_cnt(p));
	assert_int_equal(nodes, dict__node_cnt(p->dict) + 1);
	/* Nothing in the data can start markup or end a script line. */
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

/* Returns the sum of a pair list's second numbers. */
static unsigned long long pair_sum(const char *data, const char *name)
{
	const char *s = strstr(data, name);
	unsigned long long sum = 0, value;
	char *end;

	assert_non_null(s);
	s += strlen(name);
	for (unsigned i = 0; *s != ']'; i++, s = *end == ',' ? end + 1 : end) {
		value = strtoull(s, &end, 10);
		assert_ptr_not_equal(s, end);
		sum += i % 2 ? value : 0;
	}
	return sum;
}

/* One tree for all measures; the requested one is only shown first. */
static void a_page_has_time_on_and_off_the_cpu(void **state)
{
	static const char *const first[] = { "\"measure\":\"cpu\"", "\"measure\":\"off\"",
					     "\"measure\":\"wall\"" };
	struct profile *p = pages_waits(), *wall;

	assert_int_equal(profile__new_wall(&wall, p), 0);
	for (unsigned i = 0; i < 3; i++) {
		const struct emitter_ops *ops = format_by_name("html");
		char *page, *data;
		struct emitter *e;
		unsigned nodes;
		size_t size;
		FILE *out = open_memstream(&page, &size);

		assert_int_equal(ops->open(&e, out, &pages_options), 0);
		assert_int_equal(ops->finish(e, i == 2 ? wall : p, i % 2), 0);
		ops->free(e);
		fclose(out);
		data = page_data(page);
		assert_int_equal(self_sum(data, &nodes), 2600 * PAGES_MS);
		assert_int_equal(pair_sum(data, "\"cpu\":["), 600 * PAGES_MS);
		assert_int_equal(pair_sum(data, "\"gil\":["), 500 * PAGES_MS);
		assert_non_null(strstr(data, first[i]));
		assert_non_null(strstr(data, "\"unit\":\"nanoseconds\""));
		free(data);
		free(page);
	}
	profile__free(wall);
	profile__free(p);
}

/*
 * Makes more nodes than fit in a page, once for all tests that need them (*state), since that takes
 * seconds.
 */
static int make_huge(void **state)
{
	*state = large_profile(1060000);
	return 0;
}

static int free_huge(void **state)
{
	profile__free(*state);
	return 0;
}

/* Even with subtrees left out, each measure has everything that was counted. */
static void measures_of_a_large_tree_are_whole(void **state)
{
	struct profile *p = *state;
	__u32 cnt = dict__node_cnt(p->dict);
	__u64 weight = profile__counts(p, 0)->weight;
	struct event_spec off;
	char *page, *data;
	unsigned nodes;

	event_off_cpu(&off, PAGES_MS);
	assert_int_equal(profile__set_event(p, 1, &off), 0);
	for (__u32 i = 1; i <= cnt; i += 3)
		profile__count_state(p, 1, i, 1000, i % 2 ? STATE_GIL : STATE_LOCK);
	page = emit_text("html", p, &pages_options);
	data = page_data(page);
	assert_int_equal(self_sum(data, &nodes), weight + profile__counts(p, 1)->weight);
	assert_true(nodes < cnt);
	assert_int_equal(pair_sum(data, "\"cpu\":["), weight);
	assert_true(pair_sum(data, "\"gil\":[") > profile__counts(p, 1)->weight / 3);
	free(data);
	free(page);
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
	struct profile *p = *state;
	char *page = emit_text("html", p, &pages_options), *data = page_data(page);
	unsigned nodes;

	assert_int_equal(self_sum(data, &nodes), sample_cnt(p));
	assert_true(nodes < dict__node_cnt(p->dict));
	assert_true(nodes > 1000);
	free(data);
	free(page);
}

static void a_page_loads_nothing(void **state)
{
	struct profile *p = small_profile();
	char *page = emit_text("html", p, &pages_options);

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
	assert_int_equal(ops->open(&e, out, &pages_options), 0);
	assert_true(ops->finish(e, p, 0) < 0);
	ops->free(e);
	fclose(out);
	profile__free(p);
}

/* Each is preceded by the number of its string. */
static void files_have_their_short_forms(void **state)
{
	struct profile *p = small_profile();
	unsigned asked = 0;
	char *page = pages_with_sources(p, &asked), *data = page_data(page);
	const char *forms = strstr(data, "\"shortFiles\":[");

	assert_non_null(forms);
	assert_non_null(strstr(forms, ",\"json/encoder.py\""));
	assert_non_null(strstr(forms, ",\"jinja2/environment.py\""));
	free(data);
	free(page);
	profile__free(p);
}

static void sources_are_asked_for_once_and_are_no_markup(void **state)
{
	struct profile *p = small_profile();
	unsigned asked = 0;
	char *page = pages_with_sources(p, &asked), *data = page_data(page);

	assert_in_range(asked, 3, 20);
	assert_non_null(strstr(data, "\"sources\":{\"files\":[["));
	assert_non_null(strstr(data, "the profiled program could not read it"));
	assert_null(strchr(data, '<'));
	assert_null(strstr(page, "alert(1)"));
	free(data);
	free(page);
	profile__free(p);
}

/* A large file is kept only near its lines; for files that do not fit, the page says so. */
static int large_source(void *ctx, const struct dict *dict, __u32 file, char **ret)
{
	size_t size = 10U << 20;

	*ret = malloc(size);
	assert_non_null(*ret);
	memset(*ret, 'x', size);
	for (size_t i = 0; i < size; i += 100000)
		(*ret)[i] = '\n';
	(*ret)[size - 1] = '\0';
	return 0;
}

static void large_sources_are_cut(void **state)
{
	struct profile *p = large_profile(3000);
	struct emit_options with = pages_options;
	char *page, *data;

	with.source = large_source;
	page = emit_timed("html", p, &with);
	data = page_data(page);
	assert_non_null(strstr(data, "not all is kept: this page has the hottest files"));
	free(data);
	free(page);
	profile__free(p);
}

static void two_recordings_are_one_page(void **state)
{
	char *text = NULL, *data;
	size_t size;
	unsigned nodes;
	FILE *out = open_memstream(&text, &size);

	pages_comparison(out);
	fclose(out);
	data = page_data(text);
	assert_non_null(strstr(data, "\"compared\":true"));
	assert_non_null(strstr(data, "\"before\":["));
	/* Both: 1000 after and 978 before, a millisecond each. */
	assert_true(self_sum(data, &nodes) / 1000000 == 1978);
	free(data);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_samples_of_a_small_profile_are_in_the_page),
		cmocka_unit_test(hostile_names_stay_inside_the_data),
		cmocka_unit_test(stacks_of_2000_frames_are_kept_whole),
		cmocka_unit_test(an_empty_profile_gives_a_page),
		cmocka_unit_test(a_tree_beyond_the_bound_loses_boxes_but_no_samples),
		cmocka_unit_test(a_page_has_time_on_and_off_the_cpu),
		/* The next test counts waits in the huge profile, too, so this one must come first. */
		cmocka_unit_test(measures_of_a_large_tree_are_whole),
		cmocka_unit_test(a_page_loads_nothing),
		cmocka_unit_test(a_full_disk_is_reported),
		cmocka_unit_test(two_recordings_are_one_page),
		cmocka_unit_test(files_have_their_short_forms),
		cmocka_unit_test(sources_are_asked_for_once_and_are_no_markup),
		cmocka_unit_test(large_sources_are_cut),
	};
	const char *dir = getenv("KRAIT_PAGES");

	if (!dir)
		return cmocka_run_group_tests(tests, make_huge, free_huge);
	pages_write(dir);
	return 0;
}
