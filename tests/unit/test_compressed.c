/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_compressed.c - compressed records hold the same records, in the same order, whatever their sizes; they can be
 * read up to each flush; no input makes the reader expand more than was declared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "capture/perfdata/compressed.h"
#include "capture/perfdata/perf_reader.h"
#include "capture/perfdata/perf_writer.h"
#include "base/data/bytes.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"

#define BASE 0x100000000000ULL
#define DEPTH 400
#define SAMPLES 1000

static struct perf_writer *new_writer(FILE *out, int level)
{
	static const struct event_spec event = { .name = "cpu-clock", .frequency = 997 };
	static const struct recording recording = { .host = "here" };
	const struct perf_writer_config config = {
		.events = &event,
		.event_cnt = 1,
		.compression = level,
		.recording = &recording,
	};
	struct perf_writer *w;

	assert_int_equal(perf_writer__new(&w, out, &config), 0);
	return w;
}

/* Stacks that differ at the leaf, as stacks do, and now and then one as deep as a record holds. */
static void write_sample(struct perf_writer *w, unsigned i)
{
	static __u64 chain[PERF_WRITER_MAX_CHAIN];
	const struct perf_stamp stamp = { 7, 7, 1, 1000 + i, 0, 0 };
	unsigned cnt = i % 500 == 499 ? PERF_WRITER_MAX_CHAIN : DEPTH + i % 7;

	chain[0] = (__u64)PERF_CONTEXT_USER;
	for (unsigned d = 1; d < cnt; d++)
		chain[d] = BASE + 4 * (d * 31 + (d < 4 ? i % 50 : 0));
	assert_int_equal(perf_writer__sample(w, &stamp, 0, 1000000, chain[1], chain, cnt), 0);
}

/* flushed: perf_writer__flush() after so many; the file is left without its end, as by a kill. */
static FILE *write_file(int level, unsigned flushed)
{
	FILE *f = tmpfile();
	struct perf_writer *w = new_writer(f, level);

	for (unsigned i = 0; i < SAMPLES; i++) {
		write_sample(w, i);
		if (flushed && i + 1 == flushed) {
			assert_int_equal(perf_writer__flush(w), 0);
			perf_writer__free(w);
			return f;
		}
	}
	assert_int_equal(perf_writer__finish(w, NULL, 0), 0);
	if (level)
		assert_true(perf_writer__ratio(w) > 50);
	perf_writer__free(w);
	return f;
}

static struct perf_reader *open_reader(FILE *f)
{
	struct perf_reader *r;
	struct error err;

	rewind(f);
	assert_int_equal(perf_reader__open(&r, f, "test", &err), 0);
	return r;
}

/* The samples of both are the same bytes; returns their number. */
static unsigned compare(FILE *plain, FILE *packed)
{
	struct perf_reader *left = open_reader(plain), *right = open_reader(packed);
	struct perf_read a, b;
	unsigned cnt = 0;

	while (perf_reader__next(right, &b) == 1) {
		assert_int_equal(perf_reader__next(left, &a), 1);
		assert_int_equal(a.raw_size, b.raw_size);
		assert_memory_equal(a.raw, b.raw, a.raw_size);
		cnt += b.kind == PERF_READ_SAMPLE;
	}
	assert_int_equal(perf_reader__stats(right)->skipped, 0);
	assert_false(perf_reader__stats(right)->cut);
	perf_reader__free(left);
	perf_reader__free(right);
	return cnt;
}

static void the_same_records_come_out(void **state)
{
	static const int levels[] = { 1, 3, COMPRESSED_LEVEL_MAX };

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		cleanup_fclose FILE *plain = write_file(0, 0), *packed = write_file(levels[i], 0);
		long sizes[2];

		sizes[0] = (fseek(plain, 0, SEEK_END), ftell(plain));
		sizes[1] = (fseek(packed, 0, SEEK_END), ftell(packed));
		assert_true(sizes[1] * 30 < sizes[0]);
		assert_int_equal(compare(plain, packed), SAMPLES);
	}
}

/* The file as it is after a kill: no features at its end. */
static void each_flush_can_be_read(void **state)
{
	for (unsigned flushed = 1; flushed < SAMPLES; flushed = flushed * 3 + 1) {
		cleanup_fclose FILE *plain = write_file(0, flushed),
				    *packed = write_file(1, flushed);
		struct perf_reader *r;

		assert_int_equal(compare(plain, packed), flushed);
		r = open_reader(packed);
		while (perf_reader__next(r, &(struct perf_read){ 0 }) == 1)
			;
		assert_int_equal(perf_reader__facts(r)->expands_to, COMPRESSED_EXPANDS_TO);
		perf_reader__free(r);
	}
}

static void also_through_a_pipe(void **state)
{
	cleanup_fclose FILE *plain = write_file(0, 0), *packed = tmpfile();
	struct perf_writer *w;
	int out[2];
	char buf[65536];
	ssize_t n;
	FILE *to;

	assert_int_equal(pipe(out), 0);
	to = fdopen(out[1], "w");
	w = new_writer(to, 1);
	for (unsigned i = 0; i < SAMPLES; i++)
		write_sample(w, i);
	/* It fits in the pipe. */
	assert_int_equal(perf_writer__finish(w, NULL, 0), 0);
	perf_writer__free(w);
	fclose(to);
	while ((n = read(out[0], buf, sizeof(buf))) > 0)
		assert_int_equal(fwrite(buf, 1, (size_t)n, packed), n);
	close(out[0]);
	assert_int_equal(compare(plain, packed), SAMPLES);
}

/* A disk that is full: what fits is whole. */
static void a_cut_file_can_be_read(void **state)
{
	cleanup_fclose FILE *plain = write_file(0, 0), *packed = tmpfile();
	struct perf_writer *w = new_writer(packed, 1);
	__u64 half = 0;
	unsigned cnt;

	for (unsigned i = 0; i < SAMPLES; i++) {
		write_sample(w, i);
		if (i == SAMPLES / 2) {
			assert_int_equal(perf_writer__flush(w), 0);
			half = perf_writer__flushed(w);
		}
	}
	fflush(packed);
	assert_true(perf_writer__written(w) > half);
	assert_int_equal(perf_writer__cut(w, perf_writer__written(w) - 1), 0);
	perf_writer__free(w);
	cnt = compare(plain, packed);
	assert_true(cnt > SAMPLES / 2 && cnt < SAMPLES);
}

/* What a part of a plain file tells of the whole. */
static void what_compression_would_save_is_known(void **state)
{
	for (int level = 0; level < 2; level++) {
		cleanup_fclose FILE *f = tmpfile(), *packed = write_file(1, 0);
		struct perf_writer *w = new_writer(f, level);
		long size = (fseek(packed, 0, SEEK_END), ftell(packed));
		double ratio;

		assert_true(perf_writer__would_save(w) == 0);
		for (unsigned i = 0; i < SAMPLES; i++)
			write_sample(w, i);
		assert_int_equal(perf_writer__flush(w), 0);
		ratio = perf_writer__would_save(w);
		if (level)
			assert_true(ratio == 0);
		else
			assert_true(ratio > 0.5 * (double)perf_writer__flushed(w) / (double)size &&
				    ratio < 2 * (double)perf_writer__flushed(w) / (double)size);
		perf_writer__free(w);
	}
}

/* ---- the reader alone -------------------------------------------------------------------------- */

static void put_record(struct bytes *b, __u16 size)
{
	bytes_u32(b, PERF_RECORD_THROTTLE);
	bytes_u16(b, 0);
	bytes_u16(b, size);
	bytes_fill(b, (__u8)size, size - 8U);
}

/* Appends a frame of zstd. */
static void put_frame(struct bytes *b, const struct bytes *data)
{
	size_t bound = ZSTD_compressBound(data->len), size;
	cleanup_free void *to = malloc(bound);

	size = ZSTD_compress(to, bound, data->data, data->len, 1);
	assert_false(ZSTD_isError(size));
	bytes_put(b, to, size);
}

/* Returns the number of records, or -EBADMSG. */
static int count(const struct bytes *b, __u64 expands_to)
{
	struct unpacker *u;
	const __u8 *record;
	size_t size;
	int cnt = 0, result;

	assert_int_equal(unpacker__new(&u), 0);
	unpacker__feed(u, b->data, b->len, expands_to);
	while ((result = unpacker__next(u, &record, &size)) == 1)
		cnt++;
	unpacker__free(u);
	return result ? result : cnt;
}

static void bombs_do_not_go_off(void **state)
{
	cleanup_bytes struct bytes data = { 0 }, packed = { 0 };

	for (unsigned i = 0; i < 1 << 17; i++)
		put_record(&data, 8);
	put_frame(&packed, &data);
	assert_true(packed.len < 8192);
	assert_int_equal(count(&packed, data.len), 1 << 17);
	assert_int_equal(count(&packed, data.len - 8), -EBADMSG);
	assert_int_equal(count(&packed, 0), -EBADMSG);
}

static void frames_may_be_several_and_empty(void **state)
{
	cleanup_bytes struct bytes data = { 0 }, packed = { 0 }, none = { 0 };

	put_record(&data, 48);
	bytes_u8(&none, 0); /* only for its address */
	none.len = 0;
	for (unsigned i = 0; i < 5; i++) {
		put_frame(&packed, &none);
		put_frame(&packed, &data);
	}
	put_frame(&packed, &none);
	assert_int_equal(count(&packed, 1000), 5);
}

static void a_record_may_be_torn(void **state)
{
	cleanup_bytes struct bytes data = { 0 };
	const __u8 *record;
	struct unpacker *u;
	size_t size;

	put_record(&data, 65528);
	put_record(&data, 16);
	assert_int_equal(unpacker__new(&u), 0);
	for (size_t at = 0, step; at < data.len; at += step) {
		cleanup_bytes struct bytes part = { 0 }, packed = { 0 };

		step = data.len - at < 30000 ? data.len - at : 30000;
		bytes_put(&part, data.data + at, step);
		put_frame(&packed, &part);
		unpacker__feed(u, packed.data, packed.len, step);
		if (at + step < 65528) {
			assert_int_equal(unpacker__next(u, &record, &size), 0);
			assert_true(unpacker__is_torn(u));
			continue;
		}
		assert_int_equal(unpacker__next(u, &record, &size), 1);
		assert_int_equal(size, 65528);
		assert_memory_equal(record, data.data, size);
		assert_int_equal(unpacker__next(u, &record, &size), 1);
		assert_int_equal(size, 16);
		assert_int_equal(unpacker__next(u, &record, &size), 0);
		assert_false(unpacker__is_torn(u));
	}
	unpacker__free(u);
}

static void damage_is_noticed_or_harmless(void **state)
{
	cleanup_bytes struct bytes data = { 0 }, packed = { 0 };
	unsigned bad = 0;

	for (unsigned i = 0; i < 300; i++)
		put_record(&data, (__u16)(8 + 8 * (i * 7 % 90)));
	put_frame(&packed, &data);
	assert_int_equal(count(&packed, data.len), 300);
	for (size_t i = 0; i < packed.len; i++) {
		packed.data[i] ^= 0x55;
		bad += count(&packed, data.len) < 0;
		packed.data[i] ^= 0x55;
	}
	assert_true(bad > packed.len / 4);
	while (packed.len--)
		assert_true(count(&packed, data.len) <= 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_records_come_out),
		cmocka_unit_test(each_flush_can_be_read),
		cmocka_unit_test(also_through_a_pipe),
		cmocka_unit_test(a_cut_file_can_be_read),
		cmocka_unit_test(what_compression_would_save_is_known),
		cmocka_unit_test(bombs_do_not_go_off),
		cmocka_unit_test(frames_may_be_several_and_empty),
		cmocka_unit_test(a_record_may_be_torn),
		cmocka_unit_test(damage_is_noticed_or_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
