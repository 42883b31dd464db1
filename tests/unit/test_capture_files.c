/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_capture_files.c - perf.data as a file: through a pipe, damaged, truncated, and while it is
 * being written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "cmd/common/formats.h"
#include "capture/import/perf_import.h"
#include "support_capture.h"
#include "support_profile.h"
#include "base/system/error.h"

static void a_pipe_gives_what_a_file_gives(void **state)
{
	const struct perf_import_config config = { .path = "pipe" };
	struct profile *p = small_profile(), *again = profile__new();
	struct perf_import_stats stats;
	struct capture c;
	struct error err;
	char *text = NULL, *want, *got;
	size_t size;
	FILE *out = open_memstream(&text, &size), *in;

	capture_open(&c);
	setenv("HOME", c.folder, 1);
	capture_write(out, p);
	fclose(out);
	in = fmemopen(text, size, "r");
	assert_int_equal(perf_import(again, in, &config, &stats, &err), 0);
	want = emit_text("folded", p, &(struct emit_options){ .lines = true });
	got = emit_text("folded", again, &(struct emit_options){ .lines = true });
	assert_string_equal(got, want);
	assert_string_equal(stats.facts.host, capture_options.recording.host);
	fclose(in);
	free(text);
	free(want);
	free(got);
	profile__free(p);
	profile__free(again);
	capture_close(&c);
}

/* Each truncation, and each damaged byte, gives an error or fewer samples, never a crash. */
static void damaged_files_give_less(void **state)
{
	struct profile *p = small_profile();
	struct capture c;
	char *text;
	long size;

	capture_open(&c);
	capture_write(c.file, p);
	size = ftell(c.file);
	fseek(c.file, 0, SEEK_END);
	size = ftell(c.file);
	text = malloc((size_t)size);
	rewind(c.file);
	assert_int_equal(fread(text, 1, (size_t)size, c.file), size);
	for (long cut = 1; cut < size; cut += cut < 400 ? 7 : size / 50) {
		const struct perf_import_config config = { .path = c.path };
		struct perf_import_stats stats;
		struct profile *again = profile__new();
		struct error err = { .text = "" };
		FILE *in = fmemopen(text, (size_t)cut, "r");

		if (perf_import(again, in, &config, &stats, &err))
			assert_true(*err.text);
		else
			assert_true(stats.samples <= sample_cnt(p));
		fclose(in);
		profile__free(again);
		text[cut] ^= 0x55;
		in = fmemopen(text, (size_t)size, "r");
		again = profile__new();
		if (!perf_import(again, in, &config, &stats, &err))
			assert_int_equal(sample_cnt(again), stats.samples);
		text[cut] ^= 0x55;
		fclose(in);
		profile__free(again);
	}
	free(text);
	profile__free(p);
	capture_close(&c);
}

static void a_writer_that_dies_leaves_its_samples(void **state)
{
	const struct emitter_ops *ops = format_by_name("perf");
	struct profile_sample s = { .period = 1, .pid = 4711, .tid = 4711, .comm = "x" };
	struct profile *p = small_profile(), *again;
	struct perf_import_stats stats;
	struct capture c;
	struct emitter *e;

	capture_open(&c);
	assert_int_equal(ops->open(&e, c.file, &capture_options), 0);
	for (s.node = 3; s.time_ns < 20000000000ULL; s.time_ns += 10000000) {
		assert_int_equal(ops->sample(e, p, &s), 0);
		assert_int_equal(ops->flush(e, p, s.time_ns), 0);
	}
	again = capture_read(&c, &stats);
	/* All but those since the last flush, a second ago. */
	assert_true(stats.samples >= 1899);
	assert_int_equal(stats.unresolved, 0);
	assert_true(stats.read.unfinished);
	/* A capture without a date is as old as its file. */
	assert_in_range(stats.facts.wall_offset_ns + (__s64)stats.last_ns,
			((__s64)time(NULL) - 60) * 1000000000,
			((__s64)time(NULL) + 1) * 1000000000);
	assert_int_equal(accounts_balance(&profile__counts(again, 0)->accounts), 0);
	ops->free(e);
	profile__free(p);
	profile__free(again);
	capture_close(&c);
}

/* The target sleeps: its earlier samples reach the disk a second later anyway. */
static void an_idle_capture_is_flushed_by_the_clock(void **state)
{
	const struct emitter_ops *ops = format_by_name("perf");
	struct profile_sample s = { .pid = 4711, .tid = 4711, .comm = "x", .node = 5, .period = 1 };
	struct profile *p = small_profile(), *again;
	struct perf_import_stats stats;
	struct emitter *e;
	struct capture c;

	capture_open(&c);
	assert_int_equal(ops->open(&e, c.file, &capture_options), 0);
	for (int i = 0; i < 10; i++) {
		s.time_ns += 1000;
		assert_int_equal(ops->sample(e, p, &s), 0);
	}
	again = capture_read(&c, &stats);
	assert_int_equal(stats.samples, 1);
	profile__free(again);
	assert_int_equal(ops->flush(e, p, s.time_ns + 100000000), 0);
	again = capture_read(&c, &stats);
	assert_int_equal(stats.samples, 1);
	profile__free(again);
	assert_int_equal(ops->flush(e, p, s.time_ns + 1000000000), 0);
	again = capture_read(&c, &stats);
	assert_int_equal(stats.samples, 10);
	profile__free(again);
	ops->free(e);
	profile__free(p);
	capture_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pipe_gives_what_a_file_gives),
		cmocka_unit_test(damaged_files_give_less),
		cmocka_unit_test(a_writer_that_dies_leaves_its_samples),
		cmocka_unit_test(an_idle_capture_is_flushed_by_the_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
