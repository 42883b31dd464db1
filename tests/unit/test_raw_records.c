/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_raw_records.c - copies records of one perf.data file to another byte for byte, including
 * kinds that krait does not know, with krait's own records between them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/perfdata/format.h"
#include "process/space/mapping.h"
#include "capture/perfdata/perf_reader.h"
#include "capture/perfdata/perf_writer.h"
#include "base/data/bytes.h"
#include "base/system/error.h"

/*
 * As in "perf record -e cycles,page-faults" on two CPUs: an id for each, and no identifier at the
 * front.
 */
#define SAMPLE_TYPE (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID)

static const __u64 cycles_ids[] = { 71, 72 }, faults_ids[] = { 90, 91 };

static struct perf_raw_event foreign_event(__u32 type, __u64 config, const __u64 *ids)
{
	return (struct perf_raw_event){
		.attr = { .type = type,
			  .size = PERF_ATTR_SIZE,
			  .config = config,
			  .sample_period = 4000,
			  .sample_type = SAMPLE_TYPE,
			  .freq = 1,
			  .sample_id_all = 1,
			  .task = 1 },
		.ids = ids,
		.id_cnt = 2,
	};
}

static void put_sample(struct bytes *b, __u64 id, __u64 time_ns)
{
	const struct perf_event_header header = { PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, 40 };

	bytes_put(b, &header, sizeof(header));
	bytes_u64(b, 0x1000);
	bytes_u32(b, 7);
	bytes_u32(b, 8);
	bytes_u64(b, time_ns);
	bytes_u64(b, id);
}

/* PERF_RECORD_THROTTLE: krait ignores it. */
static void put_other(struct bytes *b)
{
	const struct perf_event_header header = { PERF_RECORD_THROTTLE, 0, 56 };

	bytes_put(b, &header, sizeof(header));
	for (unsigned i = 0; i < 6; i++)
		bytes_u64(b, 0xabcdef00 + i);
}

static struct perf_writer *new_writer(FILE *out)
{
	static const struct event_spec specs[] = { { .name = "cycles" },
						   { .name = "page-faults" } };
	const struct perf_raw_event raw[] = {
		foreign_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, cycles_ids),
		foreign_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, faults_ids),
	};
	static const struct recording recording = { .host = "elsewhere", .began_wall_ns = 1234567 };
	const struct perf_writer_config config = {
		.events = specs,
		.event_cnt = 2,
		.raw_events = raw,
		.recording = &recording,
	};
	struct perf_writer *w;

	assert_int_equal(perf_writer__new(&w, out, &config), 0);
	return w;
}

static struct perf_reader *new_reader(FILE *in)
{
	struct perf_reader *r;
	struct error err;

	rewind(in);
	assert_int_equal(perf_reader__open(&r, in, "test", &err), 0);
	return r;
}

static void write_raw(struct perf_writer *w, const struct bytes *b)
{
	assert_int_equal(perf_writer__raw(w, b->data, b->len), 0);
}

/* A sample of each event, an unknown record, and a mapping of krait's after the first. */
static FILE *foreign_file(void)
{
	static const __u64 ids[] = { 71, 72, 91 };
	const struct mapping at = { .start = 0x5000, .end = 0x6000 };
	const struct perf_object object = { .path = "/x.so" };
	const struct perf_stamp stamp = { 7, 7, 0, 1500 };
	FILE *f = tmpfile();
	struct perf_writer *w = new_writer(f);

	for (unsigned i = 0; i < 3; i++) {
		cleanup_bytes struct bytes b = { 0 };

		put_sample(&b, ids[i], 1000 * (i + 1));
		write_raw(w, &b);
		perf_writer__saw(w, 1000 * (i + 1));
		b.len = 0;
		put_other(&b);
		write_raw(w, &b);
		if (!i)
			assert_int_equal(perf_writer__mapping(w, &stamp, &at, &object), 0);
	}
	assert_int_equal(perf_writer__finish(w, NULL, 0), 0);
	perf_writer__free(w);
	return f;
}

static void records_are_read_as_they_were_written(void **state)
{
	static const struct {
		enum perf_read_kind kind;
		unsigned event;
		__u64 time_ns;
	} want[] = {
		{ PERF_READ_SAMPLE, 0, 1000 },	{ PERF_READ_OTHER, 0, 0 },
		{ PERF_READ_MAPPING, 0, 1500 }, { PERF_READ_SAMPLE, 0, 2000 },
		{ PERF_READ_OTHER, 0, 0 },	{ PERF_READ_SAMPLE, 1, 3000 },
		{ PERF_READ_OTHER, 0, 0 },
	};
	FILE *f = foreign_file();
	struct perf_reader *r = new_reader(f);
	const struct perf_read_event *events;
	struct perf_read read;
	unsigned cnt;

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(perf_reader__next(r, &read), 1);
		assert_int_equal(read.kind, want[i].kind);
		if (read.kind == PERF_READ_OTHER)
			continue;
		assert_int_equal(read.time_ns, want[i].time_ns);
		assert_int_equal(read.event, want[i].event);
		assert_int_equal(read.pid, 7);
	}
	assert_int_equal(perf_reader__next(r, &read), 0);
	assert_int_equal(perf_reader__stats(r)->skipped, 0);
	events = perf_reader__events(r, &cnt);
	assert_int_equal(cnt, 2);
	assert_string_equal(events[1].name, "page-faults");
	assert_int_equal(perf_reader__facts(r)->first_ns, 1000);
	assert_int_equal(perf_reader__facts(r)->last_ns, 3000);
	perf_reader__free(r);
	fclose(f);
}

static size_t content(FILE *f, __u8 *buf, size_t size)
{
	rewind(f);
	return fread(buf, 1, size, f);
}

static void what_is_passed_on_is_the_same_file(void **state)
{
	__u8 first[8192], second[8192];
	FILE *in = foreign_file(), *out = tmpfile();
	struct perf_reader *r = new_reader(in);
	struct perf_writer *w = new_writer(out);
	struct perf_read read;
	size_t len;

	while (perf_reader__next(r, &read) == 1) {
		assert_int_equal(perf_writer__raw(w, read.raw, read.raw_size), 0);
		if (read.kind == PERF_READ_SAMPLE)
			perf_writer__saw(w, read.time_ns);
	}
	assert_int_equal(perf_writer__finish(w, NULL, 0), 0);
	len = content(in, first, sizeof(first));
	assert_int_equal(content(out, second, sizeof(second)), len);
	assert_memory_equal(second, first, len);
	perf_writer__free(w);
	perf_reader__free(r);
	fclose(in);
	fclose(out);
}

static void a_pipe_has_all_ids(void **state)
{
	int fds[2];
	FILE *in, *out;
	struct perf_writer *w;
	struct perf_reader *r;
	struct perf_read read;
	struct error err;
	cleanup_bytes struct bytes b = { 0 };

	assert_int_equal(pipe(fds), 0);
	in = fdopen(fds[0], "r");
	out = fdopen(fds[1], "w");
	w = new_writer(out);
	put_sample(&b, 91, 5);
	write_raw(w, &b);
	assert_int_equal(perf_writer__finish(w, NULL, 0), 0);
	perf_writer__free(w);
	fclose(out);
	assert_int_equal(perf_reader__open(&r, in, "pipe", &err), 0);
	assert_int_equal(perf_reader__next(r, &read), 1);
	assert_int_equal(read.event, 1);
	assert_int_equal(read.raw_size, b.len);
	assert_memory_equal(read.raw, b.data, b.len);
	perf_reader__free(r);
	fclose(in);
}

static void what_is_no_record_is_refused(void **state)
{
	const struct perf_stamp stamp = { 7, 7, 0, 1 };
	const __u64 chain[] = { (__u64)PERF_CONTEXT_USER, 1 };
	FILE *f = tmpfile();
	struct perf_writer *w = new_writer(f);
	cleanup_bytes struct bytes b = { 0 };

	put_sample(&b, 71, 1);
	assert_int_equal(perf_writer__raw(w, b.data, b.len - 8), -EINVAL);
	assert_int_equal(perf_writer__raw(w, b.data, 4), -EINVAL);
	/* krait's samples have a different format from the file's. */
	assert_int_equal(perf_writer__sample(w, &stamp, 0, 1, 1, chain, 2), -EINVAL);
	perf_writer__free(w);
	fclose(f);
}

static void too_many_ids_are_refused(void **state)
{
	static __u64 ids[8001];
	const struct event_spec spec = { .name = "cycles" };
	struct perf_raw_event raw = foreign_event(PERF_TYPE_HARDWARE, 0, ids);
	const struct perf_writer_config config = { .events = &spec,
						   .event_cnt = 1,
						   .raw_events = &raw };
	struct perf_writer *w;
	FILE *f = tmpfile();

	raw.id_cnt = 8001;
	assert_int_equal(perf_writer__new(&w, f, &config), -E2BIG);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_read_as_they_were_written),
		cmocka_unit_test(what_is_passed_on_is_the_same_file),
		cmocka_unit_test(a_pipe_has_all_ids),
		cmocka_unit_test(what_is_no_record_is_refused),
		cmocka_unit_test(too_many_ids_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
