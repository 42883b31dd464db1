/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_html_strip.c - a page's samples in time order: each is there once, in few bytes, and merging
 * is reported.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

#include "cmd/common/formats.h"
#include "output/page/html_strip.h"
#include "output/timeline.h"
#include "support_profile.h"
#include "support_sanitized.h"
#include "support_timed.h"

static const struct emit_options options = { .recording.seconds = 1 };

/* More than are kept individually. */
#define TOO_MANY ((is_short() ? 1 : 2) * HTML_STRIP_MAX)

enum { TIMES, LOW, MIDDLE, HIGH, CODES, LENGTHS, WEIGHTS, COLUMNS };

struct strip {
	unsigned char *bytes, *at[COLUMNS];
	size_t sizes[COLUMNS], packed, entries;
};

static int digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	return (int)(strchr(digits, c) - digits);
}

/* "...": gzip in base64. */
static void unpack(struct strip *s, const char *text, size_t size)
{
	size_t len = strcspn(text, "\""), n = 0;
	unsigned char *raw = malloc(len);
	z_stream zip = { 0 };

	assert_non_null(raw);
	for (size_t i = 0; i + 3 < len; i += 4) {
		int three = digit(text[i]) << 18 | digit(text[i + 1]) << 12 |
			    (text[i + 2] == '=' ? 0 : digit(text[i + 2])) << 6 |
			    (text[i + 3] == '=' ? 0 : digit(text[i + 3]));

		raw[n++] = (unsigned char)(three >> 16);
		raw[n++] = (unsigned char)(three >> 8);
		raw[n++] = (unsigned char)three;
	}
	s->packed = len;
	s->bytes = malloc(size + 1);
	zip.next_in = raw;
	zip.avail_in = (unsigned)n;
	zip.next_out = s->bytes;
	zip.avail_out = (unsigned)size + 1;
	assert_int_equal(inflateInit2(&zip, 15 + 16), Z_OK);
	assert_int_equal(inflate(&zip, Z_FINISH), Z_STREAM_END);
	assert_int_equal(zip.total_out, size);
	inflateEnd(&zip);
	free(raw);
}

static void open_strip(struct strip *s, const char *page)
{
	const char *at = strstr(page, "\"columns\":[");
	size_t sum = 0;
	char *end;

	assert_non_null(at);
	at += strlen("\"columns\":[");
	for (int i = 0; i < COLUMNS; i++, at = end + 1) {
		s->sizes[i] = strtoull(at, &end, 10);
		sum += s->sizes[i];
	}
	at = strstr(at, "\"data\":\"");
	assert_non_null(at);
	unpack(s, at + strlen("\"data\":\""), sum);
	s->at[0] = s->bytes;
	for (int i = 1; i < COLUMNS; i++)
		s->at[i] = s->at[i - 1] + s->sizes[i - 1];
	s->entries = s->sizes[CODES];
}

static __u64 take(unsigned char **at)
{
	__u64 value = 0;
	unsigned shift = 0;

	do {
		value |= (__u64)(**at & 127) << shift;
		shift += 7;
	} while (*(*at)++ & 128);
	return value;
}

/* Returns, by node of the page, what the strip's entries of a one-state clock add up to. */
static __u64 *sums_of(const struct strip *s, unsigned nodes)
{
	__u64 *sums = calloc(nodes, sizeof(*sums));
	unsigned char *weights = s->at[WEIGHTS];

	for (size_t i = 0; i < s->entries; i++) {
		unsigned node = s->at[LOW][i] | (unsigned)s->at[MIDDLE][i] << 8 |
				(unsigned)s->at[HIGH][i] << 16;

		assert_in_range(node, 0, nodes - 1);
		sums[node] += s->at[CODES][i] & 1 ? take(&weights) : 1;
	}
	return sums;
}

static unsigned number_after(const char *page, const char *name)
{
	const char *at = strstr(page, name);

	assert_non_null(at);
	return (unsigned)strtoul(at + strlen(name), NULL, 10);
}

/* Compares each node's self with the strip. */
static void check_sums(const char *page, const struct strip *s, unsigned nodes)
{
	const char *at = strstr(page, "\"nodes\":[") + strlen("\"nodes\":[");
	__u64 *sums = sums_of(s, nodes);
	char *end;

	for (unsigned i = 0; i < nodes; i++) {
		for (int k = 0; k < 2; k++, at = end + 1)
			strtoull(at, &end, 10);
		assert_int_equal(sums[i], strtoull(at, &end, 10));
		at = end + 1;
	}
	assert_int_equal(*end, ']');
	free(sums);
}

static unsigned node_cnt(const char *page)
{
	const char *at = strstr(page, "\"nodes\":["), *end = strchr(at, ']');
	unsigned commas = 0;

	for (; at < end; at++)
		commas += *at == ',';
	return (commas + 1) / 3;
}

static void each_sample_is_in_it_at_its_node(void **state)
{
	struct profile *p = large_profile(3000);
	char *page = emit_timed("html", p, &options);
	struct strip s;

	open_strip(&s, page);
	assert_int_equal(s.entries, sample_cnt(p));
	check_sums(page, &s, node_cnt(page));
	free(s.bytes);
	free(page);
	profile__free(p);
}

/* 400,000 different stacks, and as many samples as are kept individually. */
static void a_million_samples_take_4_bytes_each(void **state)
{
	struct profile *p = large_profile(TIMES(400000));
	const __u64 cnt = TIMES(HTML_STRIP_MAX);
	struct strip s;
	char *page;

	add_random_samples(p, cnt);
	page = emit_timed("html", p, &options);
	open_strip(&s, page);
	assert_int_equal(s.entries, cnt);
	assert_true((double)s.packed / (double)s.entries <= 4);
	print_message("%.2f bytes a sample\n", (double)s.packed / (double)s.entries);
	free(s.bytes);
	free(page);
	profile__free(p);
}

static void more_go_together_and_the_page_knows(void **state)
{
	struct profile *p = large_profile(3000);
	const __u64 cnt = TOO_MANY + 1000;
	struct strip s;
	char *page;

	add_random_samples(p, cnt);
	page = emit_timed("html", p, &options);
	open_strip(&s, page);
	assert_true(s.entries <= HTML_STRIP_MAX);
	assert_true(s.entries > 1000);
	assert_int_equal(number_after(page, "\"samples\":"), cnt);
	assert_true(number_after(page, "\"width\":") > 0);
	check_sums(page, &s, node_cnt(page));
	free(s.bytes);
	free(page);
	profile__free(p);
}

static void too_many_different_stacks_have_no_strip(void **state)
{
	struct html_strip *strip = html_strip__new();
	struct html_measures m = { 0 };
	struct profile *p = small_profile();
	char *text, expected[64];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	m.all = profile__counts(p, 0);
	for (__u32 i = 0; i < TOO_MANY + 5; i++) {
		const struct profile_sample s = {
			.node = i, .time_ns = i, .pid = 1, .tid = 1, .period = 1
		};

		assert_int_equal(html_strip__add(strip, &s), 0);
	}
	assert_int_equal(html_strip__put(strip, out, p, 0, &m, NULL), 0);
	fclose(out);
	snprintf(expected, sizeof(expected), ",\n\"strip\":{\"samples\":%u}", TOO_MANY + 5);
	assert_string_equal(text, expected);
	free(text);
	html_strip__free(strip);
	profile__free(p);
}

static void without_samples_there_is_none(void **state)
{
	struct html_strip *strip = html_strip__new();
	struct profile *p = small_profile();
	struct html_measures m = { .all = profile__counts(p, 0) };
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(html_strip__put(strip, out, p, 0, &m, NULL), 0);
	fclose(out);
	assert_string_equal(text, "");
	free(text);
	html_strip__free(strip);
	profile__free(p);
}

static void thinned_samples_keep_their_sums(void **state)
{
	struct timeline *t = timeline__new();
	struct timeline_thread *threads;
	__u64 sum = 0, left = 0;
	size_t cnt;

	for (unsigned i = 0; i < 10000; i++) {
		const struct profile_sample s = { .time_ns = 1000 + i * 7,
						  .from_ns = i % 3 ? 0 : 900 + i * 7,
						  .period = 1 + i % 11,
						  .node = i % 5,
						  .state = i % 2,
						  .pid = 1,
						  .tid = 1 + (int)i % 2 };

		assert_int_equal(timeline__add(t, &s), 0);
		sum += s.period;
	}
	assert_in_range(timeline__thin(t, 7000), 100, 2000);
	threads = timeline__threads(t, NULL, TIMELINE_ALL_EVENTS, &cnt);
	assert_int_equal(cnt, 2);
	for (size_t i = 0; i < cnt; i++) {
		for (size_t k = 0; k < threads[i].cnt; k++) {
			left += threads[i].samples[k].weight;
			assert_true(!k || threads[i].samples[k].time_ns >=
						  threads[i].samples[k - 1].time_ns);
			assert_true(threads[i].samples[k].from_ns < threads[i].samples[k].time_ns);
		}
	}
	assert_int_equal(left, sum);
	timeline__free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_sample_is_in_it_at_its_node),
		cmocka_unit_test(a_million_samples_take_4_bytes_each),
		cmocka_unit_test(more_go_together_and_the_page_knows),
		cmocka_unit_test(too_many_different_stacks_have_no_strip),
		cmocka_unit_test(without_samples_there_is_none),
		cmocka_unit_test(thinned_samples_keep_their_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
