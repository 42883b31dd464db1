/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_perf_copy.c - a copy of a perf.data has every byte of it, known or not; what was compressed is not, and what says
 * where something is still does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "support_raw.h"
#include "capture/perfdata/perf_copy.h"
#include "base/data/bytes.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"

#define OLD "/old/python-00112233.so"
#define NEW "/a/much/longer/name/of/the/folder.krait/python-00112233.so"
#define UNKNOWN_FEATURE 200
#define TRACE_SIZE 40

static const __u8 build_id[20] = { 0, 0x11, 0x22, 0x33 };

static void put_mapping(struct bytes *b, const char *path)
{
	size_t start = raw_record_begin(b, PERF_RECORD_MMAP2, 0);

	b->data[start + 4] = PERF_RECORD_MISC_USER;
	b->data[start + 5] = PERF_RECORD_MISC_MMAP_BUILD_ID >> 8;
	bytes_u64(b, 7ULL << 32 | 7);
	for (unsigned i = 0; i < 3; i++)
		bytes_u64(b, 0x1000);
	bytes_u32(b, sizeof(build_id));
	bytes_put(b, build_id, sizeof(build_id));
	bytes_u64(b, 0);
	bytes_text(b, path);
	bytes_align(b, 8);
	bytes_u64(b, 7ULL << 32 | 7); /* its trailer */
	bytes_u64(b, 12345);
	raw_record_end(b, start);
}

/* Returns where it is in *b. */
static size_t put_trace(struct bytes *b)
{
	size_t start = raw_record_begin(b, PERF_USER_AUXTRACE, 0);

	bytes_u64(b, TRACE_SIZE);
	bytes_fill(b, 1, 32);
	raw_record_end(b, start);
	bytes_fill(b, 0xee, TRACE_SIZE);
	return start;
}

static void put_compressed(struct bytes *b, const struct bytes *records)
{
	__u8 to[4096];
	size_t size = ZSTD_compress(to, sizeof(to), records->data, records->len, 1);
	size_t start = raw_record_begin(b, PERF_USER_COMPRESSED, 0);

	bytes_put(b, to, size);
	raw_record_end(b, start);
}

static void put_build_id(struct bytes *b, const char *path)
{
	size_t start = raw_record_begin(b, 0, 0);

	bytes_u32(b, (__u32)-1);
	bytes_put(b, build_id, sizeof(build_id));
	bytes_u32(b, sizeof(build_id));
	bytes_text(b, path);
	bytes_align(b, 8);
	raw_record_end(b, start);
}

struct parts {
	struct bytes records, build_ids;
	__u64 trace_at; /* among the records */
};

/* packed: some of the records are compressed. */
static struct parts parts_of(const char *path, bool packed)
{
	cleanup_bytes struct bytes inner = { 0 };
	struct parts p = { 0 };

	raw_record_unknown(&p.records, 1);
	for (unsigned i = 0; i < 50; i++)
		raw_record_unknown(&inner, i);
	put_mapping(&inner, path);
	if (packed)
		put_compressed(&p.records, &inner);
	else
		bytes_put(&p.records, inner.data, inner.len);
	p.trace_at = put_trace(&p.records);
	raw_record_unknown(&p.records, 2);
	put_build_id(&p.build_ids, path);
	put_build_id(&p.build_ids, "/lib/other.so");
	return p;
}

static void parts_free(struct parts *p)
{
	bytes_free(&p->records);
	bytes_free(&p->build_ids);
}

static void put_file(struct bytes *b, const struct parts *p, bool packed)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = PERF_ATTR_SIZE,
					.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
					.sample_id_all = 1 };
	struct perf_file_header h = {
		.magic = PERF_MAGIC,
		.size = sizeof(h),
		.attr_size = PERF_ATTR_SIZE + 16,
		.attrs = { sizeof(h) + 8, PERF_ATTR_SIZE + 16 },
		.data = { sizeof(h) + 8 + PERF_ATTR_SIZE + 16, p->records.len },
		.features = { 1ULL << PERF_FEATURE_BUILD_ID | 1ULL << PERF_FEATURE_AUXTRACE |
			      (packed ? 1ULL << PERF_FEATURE_COMPRESSED : 0) },
	};
	const __u32 compressed[] = { 0, PERF_COMPRESSED_ZSTD, 1, 3, 65536 };
	__u64 at = h.data.offset + h.data.size + 16 * (3U + packed);

	h.features[UNKNOWN_FEATURE / 64] = 1ULL << UNKNOWN_FEATURE % 64;
	bytes_put(b, &h, sizeof(h));
	bytes_u64(b, 77);
	bytes_put(b, &attr, PERF_ATTR_SIZE);
	bytes_u64(b, sizeof(h));
	bytes_u64(b, 8);
	bytes_put(b, p->records.data, p->records.len);
	bytes_u64(b, at);
	bytes_u64(b, p->build_ids.len);
	at += p->build_ids.len;
	bytes_u64(b, at);
	bytes_u64(b, 24);
	at += 24;
	if (packed) {
		bytes_u64(b, at);
		bytes_u64(b, sizeof(compressed));
		at += sizeof(compressed);
	}
	bytes_u64(b, at);
	bytes_u64(b, 5);
	bytes_put(b, p->build_ids.data, p->build_ids.len);
	bytes_u64(b, 1);
	bytes_u64(b, h.data.offset + p->trace_at);
	bytes_u64(b, 8 + 8 + 32);
	if (packed)
		bytes_put(b, compressed, sizeof(compressed));
	bytes_put(b, "extra", 5);
}

static const char *rename_it(void *ctx, const char *path, const __u8 *id, unsigned id_size)
{
	if (strcmp(path, OLD))
		return NULL;
	assert_int_equal(id_size, sizeof(build_id));
	assert_memory_equal(id, build_id, sizeof(build_id));
	++*(unsigned *)ctx;
	return NEW;
}

/* Returns perf_copy()'s result, with the copy in *ret. */
static int copy(const struct bytes *in, struct bytes *ret, struct perf_read_stats *stats)
{
	unsigned renamed = 0;
	const struct perf_copy_editor editor = { .rename = rename_it, .ctx = &renamed };
	cleanup_fclose FILE *from = raw_file(in), *to = tmpfile();
	struct error err;
	int result = perf_copy(to, from, "test", &editor, stats, &err);

	ret->len = 0;
	raw_file_read(to, ret);
	if (!result)
		assert_int_equal(renamed, 2);
	return result;
}

static void a_copy_is_the_plain_file(void **state)
{
	for (int packed = 0; packed < 2; packed++) {
		cleanup_bytes struct bytes in = { 0 }, want = { 0 }, got = { 0 };
		struct parts from = parts_of(OLD, packed), to = parts_of(NEW, false);
		struct perf_read_stats stats;

		put_file(&in, &from, packed);
		put_file(&want, &to, false);
		assert_int_equal(copy(&in, &got, &stats), 0);
		assert_int_equal(stats.skipped, 0);
		assert_int_equal(got.len, want.len);
		assert_memory_equal(got.data, want.data, want.len);
		parts_free(&from);
		parts_free(&to);
	}
}

/* Compressed, also anew, and plain again: nothing has changed. */
static void a_copy_may_be_compressed(void **state)
{
	for (int packed = 0; packed < 2; packed++) {
		const struct perf_copy_editor to = { .compression = 3 }, back = { 0 };
		cleanup_bytes struct bytes in = { 0 }, want = { 0 }, small = { 0 }, got = { 0 };
		struct parts from = parts_of(OLD, packed), plain = parts_of(OLD, false);
		cleanup_fclose FILE *first, *second = tmpfile(), *third = tmpfile();
		struct perf_read_stats stats;
		struct perf_file_header h;
		struct error err;

		put_file(&in, &from, packed);
		put_file(&want, &plain, false);
		first = raw_file(&in);
		assert_int_equal(perf_copy(second, first, "test", &to, &stats, &err), 0);
		raw_file_read(second, &small);
		memcpy(&h, small.data, sizeof(h));
		assert_true(h.features[0] & 1ULL << PERF_FEATURE_COMPRESSED);
		assert_int_equal(perf_copy(third, second, "test", &back, &stats, &err), 0);
		assert_int_equal(stats.skipped, 0);
		raw_file_read(third, &got);
		assert_int_equal(got.len, want.len);
		assert_memory_equal(got.data, want.data, want.len);
		parts_free(&from);
		parts_free(&plain);
	}
}

/* As after a kill: no size, no features; the last record may be cut. */
static void a_torn_file_gets_an_end(void **state)
{
	cleanup_bytes struct bytes in = { 0 }, got = { 0 };
	struct parts from = parts_of(OLD, true);
	struct perf_read_stats stats;
	struct perf_file_header h;

	put_file(&in, &from, true);
	memcpy(&h, in.data, sizeof(h));
	in.len = h.data.offset + h.data.size - 4;
	h.data.size = 0;
	memset(h.features, 0, sizeof(h.features));
	memcpy(in.data, &h, sizeof(h));
	{
		unsigned renamed = 0;
		const struct perf_copy_editor editor = { .rename = rename_it, .ctx = &renamed };
		cleanup_fclose FILE *f = raw_file(&in), *to = tmpfile();
		struct error err;

		assert_int_equal(perf_copy(to, f, "test", &editor, &stats, &err), 0);
		assert_int_equal(fseek(to, 0, SEEK_END), 0);
		got.len = (size_t)ftell(to);
		rewind(to);
		assert_int_equal(fread(&h, 1, sizeof(h), to), sizeof(h));
	}
	assert_true(stats.unfinished);
	assert_true(stats.cut);
	assert_int_equal(h.data.offset + h.data.size, got.len);
	assert_int_equal(h.features[0], 0);
	parts_free(&from);
}

/* No byte of it is believed. */
static void damage_does_no_harm(void **state)
{
	cleanup_bytes struct bytes in = { 0 };
	struct parts from = parts_of(OLD, true);
	size_t whole;

	put_file(&in, &from, true);
	whole = in.len;
	for (size_t i = 0; i < whole; i++) {
		const struct perf_copy_editor editor = { 0 };
		cleanup_fclose FILE *f = NULL, *to = tmpfile();
		struct perf_read_stats stats;
		struct error err = { .text = "" };

		in.data[i] ^= i % 3 ? 0xff : 0x01;
		in.len = i % 5 ? whole : whole - i / 2;
		f = raw_file(&in);
		if (perf_copy(to, f, "test", &editor, &stats, &err))
			assert_true(*err.text);
		in.data[i] ^= i % 3 ? 0xff : 0x01;
	}
	parts_free(&from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_is_the_plain_file),
		cmocka_unit_test(a_copy_may_be_compressed),
		cmocka_unit_test(a_torn_file_gets_an_end),
		cmocka_unit_test(damage_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
