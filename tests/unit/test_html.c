/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_html.c - the page: its data is sound, agrees with the profile, and cannot break out.
 *
 * With KRAIT_PAGES=DIR it writes the files that tests/e2e/test_flamegraph_page.py and
 * test_speedscope.py open in a browser, and does nothing else.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmd/formats.h"
#include "emit/diff.h"
#include "profile/states.h"
#include "profile/view.h"
#include "support_profile.h"
#include "support_timed.h"

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

#define MS 1000000ULL

/* 600 ms on a CPU and 2 s off it, of which 500 ms for the GIL; one function both works and waits. */
static struct profile *waits_profile(void)
{
	struct profile *p = profile__new();
	__u32 process = push(p, 0, add_process(p, "python3 waits", 7));
	__u32 thread = push(p, process, add_thread(p, "MainThread", 7, 7));
	__u32 root = push(p, thread, add_function(p, "<module>", "/app/waits.py", 1, 30));
	__u32 both = push(p, root, add_function(p, "both", "/app/waits.py", 3, 4));
	__u32 work = push(p, root, add_function(p, "work", "/app/waits.py", 6, 7));
	__u32 idle = push(p, root, add_function(p, "idle", "/app/waits.py", 9, 9));
	struct event_spec off;

	event_off_cpu(&off, MS);
	assert_int_equal(profile__set_event(p, 1, &off), 0);
	profile__count_state(p, 0, both, 200 * MS, STATE_PYTHON);
	profile__count_state(p, 0, work, 400 * MS, STATE_PYTHON);
	profile__count_state(p, 1, push(p, both, add_mark(p, "[gil]")), 500 * MS, STATE_GIL);
	profile__count_state(p, 1, push(p, idle, add_mark(p, "[sleep]")), 1500 * MS, STATE_SLEEP);
	return p;
}

/* Σ of the numbers at odd places of a list of pairs. */
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

/* One tree for all, whichever of them is asked for; which one is shown first is what differs. */
static void a_page_has_time_on_and_off_the_cpu(void **state)
{
	static const char *const first[] = { "\"measure\":\"cpu\"", "\"measure\":\"off\"",
					     "\"measure\":\"wall\"" };
	struct profile *p = waits_profile(), *wall;

	assert_int_equal(profile__new_wall(&wall, p), 0);
	for (unsigned i = 0; i < 3; i++) {
		const struct emitter_ops *ops = format_by_name("html");
		char *page, *data;
		struct emitter *e;
		unsigned nodes;
		size_t size;
		FILE *out = open_memstream(&page, &size);

		assert_int_equal(ops->open(&e, out, &options), 0);
		assert_int_equal(ops->finish(e, i == 2 ? wall : p, i % 2), 0);
		ops->free(e);
		fclose(out);
		data = page_data(page);
		assert_int_equal(self_sum(data, &nodes), 2600 * MS);
		assert_int_equal(pair_sum(data, "\"cpu\":["), 600 * MS);
		assert_int_equal(pair_sum(data, "\"gil\":["), 500 * MS);
		assert_non_null(strstr(data, first[i]));
		assert_non_null(strstr(data, "\"unit\":\"nanoseconds\""));
		free(data);
		free(page);
	}
	profile__free(wall);
	profile__free(p);
}

/* More nodes than a page has: made once, for those who need it (*state), since that takes seconds. */
static int make_huge(void **state)
{
	*state = large_profile(1200000);
	return 0;
}

static int free_huge(void **state)
{
	profile__free(*state);
	return 0;
}

/* With subtrees left out, too, each measure has all that was counted. */
static void measures_of_a_large_tree_are_whole(void **state)
{
	struct profile *p = *state;
	__u32 cnt = dict__node_cnt(p->dict);
	__u64 weight = profile__counts(p, 0)->weight;
	struct event_spec off;
	char *page, *data;
	unsigned nodes;

	event_off_cpu(&off, MS);
	assert_int_equal(profile__set_event(p, 1, &off), 0);
	for (__u32 i = 1; i <= cnt; i += 3)
		profile__count_state(p, 1, i, 1000, i % 2 ? STATE_GIL : STATE_LOCK);
	page = emit_text("html", p, &options);
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
	char *page = emit_text("html", p, &options), *data = page_data(page);
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

/* What waits_profile() has counted, one after the other, from second 1 on. */
static char *emit_waits(struct profile *p)
{
	const struct emitter_ops *ops = format_by_name("html");
	__u64 now_ns = 1000 * MS;
	struct emitter *e;
	char *page;
	size_t size;
	FILE *out = open_memstream(&page, &size);

	assert_int_equal(ops->open(&e, out, &options), 0);
	for (unsigned event = 0; event < 2; event++) {
		for (__u32 node = 1; node <= dict__node_cnt(p->dict); node++) {
			const char *name = dict__text(
				p->dict,
				dict__frame_at(p->dict, dict__node_at(p->dict, node)->frame)->name);
			struct profile_sample s = {
				.node = node, .event = event, .pid = 7, .tid = 7, .comm = "waits"
			};

			s.period = counts__at(profile__counts(p, event), node).weight;
			if (!s.period)
				continue;
			s.from_ns = event ? now_ns : 0;
			s.state = event ? state_of_mark(name) : STATE_PYTHON;
			s.time_ns = now_ns += s.period;
			assert_int_equal(ops->sample(e, p, &s), 0);
		}
	}
	assert_int_equal(ops->finish(e, p, 0), 0);
	ops->free(e);
	fclose(out);
	return page;
}

/* 15 workers each of two programs. */
static struct profile *many_profile(void)
{
	struct profile *p = profile__new();

	for (int i = 0; i < 30; i++) {
		__u32 node = push(p, 0, add_process(p, i % 2 ? "celery" : "gunicorn", 100 + i));

		node = push(p, node, add_thread(p, "MainThread", 100 + i, 100 + i));
		add_samples(p, push(p, node, add_function(p, "work", "/app/work.py", 3, 4)),
			    1 + (unsigned)i);
	}
	return p;
}

static void write_text(const char *dir, const char *name, const char *format, char *text,
		       struct profile *p)
{
	char path[512];
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

static void write_file(const char *dir, const char *name, const char *format, struct profile *p)
{
	write_text(dir, name, format, emit_text(format, p, &options), p);
}

/* Of the small profile: what it was when walk took twice as long and nothing was encoded. */
static struct counts *before_of(const struct counts *after)
{
	struct counts *before = counts__new(after->dict, &after->event);

	assert_non_null(before);
	for (__u32 i = 1; i <= dict__node_cnt(after->dict); i++) {
		const struct profile_frame *f =
			dict__frame_at(after->dict, dict__node_at(after->dict, i)->frame);
		const char *name = dict__text(after->dict, f->name);
		struct node_count n = counts__at(after, i);
		unsigned times = !strcmp(name, "walk")			 ? 2 :
				 !strcmp(name, "JSONEncoder.iterencode") ? 0 :
									   1;

		if (n.samples && times)
			counts__add(before, i, times * n.samples, times * n.weight);
	}
	return before;
}

static void write_comparison(FILE *out)
{
	const struct diff_options names = { .name_a = "before.data", .name_b = "after.data" };
	struct profile *p = small_profile();
	struct counts *before = before_of(profile__counts(p, 0));

	assert_int_equal(diff_page(out, before, profile__counts(p, 0), &names), 0);
	counts__free(before);
	profile__free(p);
}

/* The text of every file: 300 lines, of which the first ones would like to be something else. */
static int source_text(void *ctx, const struct dict *dict, __u32 file, char **ret)
{
	const char *path = dict__text(dict, file);
	unsigned *asked = ctx;
	size_t size;
	FILE *out;

	++*asked;
	if (strstr(path, "encoder.py"))
		return -EACCES;
	out = open_memstream(ret, &size);
	assert_non_null(out);
	fputs("</script><script>alert(1)</script>\n\tif a < b && c: # \xe2\x80\xae \x1b[31m\r\n",
	      out);
	for (int line = 3; line <= 300; line++)
		fprintf(out, "line %d of it\n", line);
	return fclose(out) ? -ENOMEM : 0;
}

static char *page_with_sources(struct profile *p, unsigned *asked)
{
	struct emit_options with = options;

	with.source = source_text;
	with.source_ctx = asked;
	return emit_timed("html", p, &with);
}

static void sources_are_asked_for_once_and_are_no_markup(void **state)
{
	struct profile *p = small_profile();
	unsigned asked = 0;
	char *page = page_with_sources(p, &asked), *data = page_data(page);

	assert_in_range(asked, 3, 20);
	assert_non_null(strstr(data, "\"sources\":{\"files\":[["));
	assert_non_null(strstr(data, "those who ran it could not read it"));
	assert_null(strchr(data, '<'));
	assert_null(strstr(page, "alert(1)"));
	free(data);
	free(page);
	profile__free(p);
}

/* A large one only near to its lines; more than fits is said of each. */
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
	struct emit_options with = options;
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

	write_comparison(out);
	fclose(out);
	data = page_data(text);
	assert_non_null(strstr(data, "\"compared\":true"));
	assert_non_null(strstr(data, "\"before\":["));
	/* Both: 1000 after, and 978 before, of a millisecond each. */
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
		/* It counts waits, too, so the other one that needs the huge profile is before it. */
		cmocka_unit_test(measures_of_a_large_tree_are_whole),
		cmocka_unit_test(a_page_loads_nothing),
		cmocka_unit_test(a_full_disk_is_reported),
		cmocka_unit_test(two_recordings_are_one_page),
		cmocka_unit_test(sources_are_asked_for_once_and_are_no_markup),
		cmocka_unit_test(large_sources_are_cut),
	};
	const char *dir = getenv("KRAIT_PAGES");
	char path[512];
	struct profile *p;
	FILE *out;

	if (!dir)
		return cmocka_run_group_tests(tests, make_huge, free_huge);
	write_file(dir, "small", "html", small_profile());
	write_file(dir, "hostile", "html", hostile_profile());
	write_file(dir, "small", "speedscope", small_profile());
	write_file(dir, "hostile", "speedscope", hostile_profile());
	write_file(dir, "deep", "html", deep_profile(2000));
	write_file(dir, "large", "html", large_profile(10000));
	if (getenv("KRAIT_PAGES_HUGE")) {
		p = large_profile(500000);
		add_random_samples(p, 1000000);
		write_text(dir, "huge", "html", emit_timed("html", p, &options), p);
	}
	p = large_profile(10000);
	write_text(dir, "timed", "html", emit_timed("html", p, &options), p);
	p = small_profile();
	write_text(dir, "sources", "html", page_with_sources(p, &(unsigned){ 0 }), p);
	p = many_profile();
	write_text(dir, "many", "html", emit_timed("html", p, &options), p);
	p = waits_profile();
	write_text(dir, "waits", "html", emit_waits(p), p);
	write_file(dir, "empty", "html", profile__new());
	snprintf(path, sizeof(path), "%s/diff.html", dir);
	out = fopen(path, "w");
	assert_non_null(out);
	write_comparison(out);
	assert_int_equal(fclose(out), 0);
	write_file(dir, "small", "folded", small_profile());
	write_file(dir, "small", "script", small_profile());
	write_file(dir, "hostile", "folded", hostile_profile());
	write_file(dir, "hostile", "script", hostile_profile());
	return 0;
}
