/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_keep.c - what an agent keeps: captures, their limit, their accounts, and merging several
 * with everything in them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture/import/perf_import.h"
#include "agent/keep/keep.h"
#include "agent/keep/line_rows.h"
#include "agent/keep/merge.h"
#include "agent/keep/slices.h"
#include "profile/window.h"
#include "support_folder.h"
#include "support_profile.h"
#include "base/system/clock.h"
#include "base/system/error.h"

#define PERIOD 1000000ULL

struct folder {
	char path[64], keep[96], out[96];
};

static void folder_open(struct folder *f)
{
	test_folder_make(f->path);
	snprintf(f->keep, sizeof(f->keep), "%s/keep", f->path);
	snprintf(f->out, sizeof(f->out), "%s/x.data", f->path);
	setenv("PERF_BUILDID_DIR", f->path, 1);
}

static void folder_close(struct folder *f)
{
	test_folder_remove(f->path);
}

static void a_folder_that_others_write_in_is_refused(void **state)
{
	struct keep_config config = { .keep_bytes = KEEP_BYTES_MIN };
	struct folder f;
	struct error err;

	folder_open(&f);
	config.folder = f.keep;
	assert_int_equal(mkdir(f.keep, 0700), 0);
	assert_int_equal(chmod(f.keep, 0777), 0);
	assert_null(keep__new(&config, &err));
	assert_int_equal(rmdir(f.keep), 0);
	assert_int_equal(symlink("/tmp", f.keep), 0);
	assert_null(keep__new(&config, &err));
	folder_close(&f);
}

/* ---- captures --------------------------------------------------------------------------------- */

/* A simulated agent: samples, windows, and its counts so far. */
struct agent {
	struct profile *profile;
	struct keep *keep;
	struct window window;
	__u64 now_ns;
	unsigned in_window;
};

/* Compressed, as an agent's are; 0: not. */
static int compression = 1;

static void agent_open(struct agent *a, const struct folder *f, __u64 bytes)
{
	const struct keep_config config = {
		.folder = f->keep,
		.keep_bytes = bytes,
		.slice_ns = 2 * NS_PER_SEC,
		.compression = compression,
		.recording = { .host = "ada", .kernel = "6.18" },
	};
	struct event_spec clock;
	struct error err;

	*a = (struct agent){ .profile = profile__new(), .now_ns = clock_monotonic_ns() };
	event_default(&clock);
	clock.frequency = 1000;
	assert_int_equal(profile__set_event(a->profile, 0, &clock), 0);
	a->keep = keep__new(&config, &err);
	assert_non_null(a->keep);
	a->window = (struct window){ .profile = a->profile, .from_ns = a->now_ns };
}

static void agent_close(struct agent *a)
{
	keep__free(a->keep);
	profile__free(a->profile);
}

static void sample(struct agent *a, __u32 node, int pid)
{
	const struct profile_sample s = { .time_ns = a->now_ns,
					  .period = PERIOD,
					  .node = node,
					  .comm = "python3",
					  .pid = pid,
					  .tid = pid };

	keep__sample(a->keep, a->profile, &s);
	a->now_ns += PERIOD;
	a->in_window++;
}

/* lost: in this window; early: counted now but delivered with the next window. */
static void window(struct agent *a, unsigned lost, unsigned early)
{
	struct accounts *acc = &a->window.accounts[0];

	a->now_ns += NS_PER_SEC;
	a->window.to_ns = a->now_ns;
	acc->reasons[REASON_PYTHON] = a->in_window;
	acc->reasons[REASON_RING_FULL] = lost;
	acc->interrupts = a->in_window + lost + early;
	keep__window(a->keep, &a->window);
	a->window = (struct window){ .profile = a->profile, .from_ns = a->now_ns };
	a->in_window = 0;
}

/* A function whose code object has lines 10, 11 ... for its units. */
static __u32 code_frame(struct profile *p, const char *name, int unit)
{
	struct line_rows rows = { 0 };
	struct profile_code code = { .name = dict__string(p->dict, name),
				     .file = dict__string(p->dict, "m.py"),
				     .first_line = 9,
				     .unit_cnt = 20 };
	struct profile_frame frame = { .kind = FRAME_PYTHON,
				       .name = code.name,
				       .file = code.file,
				       .first_line = 9,
				       .line = 10 + unit,
				       .column = 4,
				       .unit = unit };

	line_rows_init(&rows, 9);
	for (int i = 0; i < 20; i++)
		line_rows_add(&rows, 10 + i, 4, 9);
	line_rows_end(&rows);
	code.lines = rows.bytes.data;
	code.lines_size = (__u32)rows.bytes.len;
	frame.code = dict__code(p->dict, &code);
	bytes_free(&rows.bytes);
	return dict__frame(p->dict, &frame);
}

static __u32 stack(struct profile *p, int pid, const char *leaf, int unit)
{
	__u32 node = push(p, 0, add_process(p, "python3", pid));

	node = push(p, node, add_thread(p, "python3", pid, pid));
	node = push(p, node, code_frame(p, "main", 3));
	return push(p, node, unit < 0 ? add_mark(p, leaf) : code_frame(p, leaf, unit));
}

static char *read_folded(const char *path, struct perf_import_stats *stats,
			 struct accounts *accounts)
{
	const struct perf_import_config config = { .path = path };
	struct emit_options options = { .lines = true };
	FILE *in = fopen(path, "r");
	struct profile *p = profile__new();
	struct error err;
	char *text;

	assert_non_null(in);
	assert_int_equal(perf_import(p, in, &config, stats, &err), 0);
	*accounts = profile__counts(p, 0)->accounts;
	text = emit_text("folded", p, &options);
	fclose(in);
	profile__free(p);
	return text;
}

static void merge_all(const struct folder *f, struct merge_stats *ret)
{
	struct slices slices = { 0 };
	int fd = slices_open_folder(f->keep, false);
	FILE *out = fopen(f->out, "w+");
	struct emit_place place = { .name = f->out };
	struct merge *m;
	char path[256];
	struct error err;

	assert_true(fd >= 0);
	assert_int_equal(slices_read(&slices, fd), 0);
	assert_int_equal(merge__new(&m, out, &place), 0);
	for (unsigned i = 0; i < slices.cnt; i++) {
		snprintf(path, sizeof(path), "%s/%s", f->keep, slices.list[i].name);
		assert_int_equal(merge__add(m, path, 0, &err), 0);
	}
	assert_int_equal(merge__finish(m), 0);
	merge__stats(m, ret);
	merge__free(m);
	fclose(out);
	slices_free(&slices);
	close(fd);
}

static void captures_made_one_have_what_each_has(void **state)
{
	struct perf_import_stats stats;
	struct merge_stats merged;
	struct accounts accounts;
	struct folder f;
	struct agent a;
	char *text;

	folder_open(&f);
	agent_open(&a, &f, KEEP_BYTES_MIN);
	for (int i = 0; i < 4; i++) {
		/* In another order each time: addresses differ from capture to capture. */
		sample(&a, stack(a.profile, 7, i % 2 ? "b" : "a", 5), 7);
		sample(&a, stack(a.profile, 7, i % 2 ? "a" : "b", 5), 7);
		sample(&a, stack(a.profile, 8, "a", 6), 8);
		sample(&a, stack(a.profile, 8, "[no Python frame]", -1), 8);
		window(&a, 2, i == 1 ? 1 : 0);
		window(&a, 0, 0);
		window(&a, 0, 0);
		keep__forget(a.keep);
		assert_int_equal(dict__forget(a.profile->dict), 0);
	}
	agent_close(&a);
	merge_all(&f, &merged);
	assert_int_equal(merged.captures, 4);
	assert_int_equal(merged.torn, 0);
	assert_int_equal(merged.samples, 16);
	assert_int_equal(merged.lost, 8);
	assert_int_equal(merged.interrupts, 24);
	assert_int_equal(merged.unnamed, 0);
	text = read_folded(f.out, &stats, &accounts);
	assert_string_equal(text, "python3;main (m.py:13);a (m.py:15) 4\n"
				  "python3;main (m.py:13);a (m.py:16) 4\n"
				  "python3;main (m.py:13);b (m.py:15) 4\n"
				  "python3;main (m.py:13);[no Python frame] 4\n");
	assert_int_equal(accounts.interrupts, 24);
	assert_int_equal(accounts_balance(&accounts), 0);
	assert_int_equal(accounts.reasons[REASON_RING_FULL], 8);
	assert_string_equal(stats.facts.host, "ada");
	free(text);
	folder_close(&f);
}

/* As left by a killed agent: up to the last flush, without accounts. */
static void a_torn_capture_has_what_was_flushed(void **state)
{
	struct perf_import_stats stats;
	struct merge_stats merged;
	struct accounts accounts;
	struct folder f;
	struct agent a;
	char command[256], *text;

	folder_open(&f);
	agent_open(&a, &f, KEEP_BYTES_MIN);
	sample(&a, stack(a.profile, 7, "a", 5), 7);
	sample(&a, stack(a.profile, 7, "a", 5), 7);
	keep__step(a.keep, a.now_ns + 10 * NS_PER_SEC);
	sample(&a, stack(a.profile, 7, "b", 5), 7);
	/* Removed by the time the agent ends it. */
	snprintf(command, sizeof(command), "cp -r %s %s/torn", f.keep, f.path);
	assert_int_equal(system(command), 0);
	window(&a, 0, 0);
	agent_close(&a);
	snprintf(f.keep, sizeof(f.keep), "%s/torn", f.path);
	assert_int_equal(chmod(f.keep, 0700), 0);
	merge_all(&f, &merged);
	assert_int_equal(merged.torn, 1);
	assert_int_equal(merged.samples, 2);
	text = read_folded(f.out, &stats, &accounts);
	assert_string_equal(text, "python3;main (m.py:13);a (m.py:15) 2\n");
	assert_int_equal(accounts.interrupts, 2);
	free(text);
	folder_close(&f);
}

static __u64 bytes_in(const struct folder *f)
{
	struct slices slices = { 0 };
	int fd = slices_open_folder(f->keep, false);
	__u64 bytes;

	assert_int_equal(slices_read(&slices, fd), 0);
	bytes = slices.bytes;
	slices_free(&slices);
	close(fd);
	return bytes;
}

/* 38 MB of samples, if they are not compressed. */
static void fill_the_folder(struct keep_stats *ret)
{
	struct folder f;
	struct agent a;
	__u32 node;

	folder_open(&f);
	agent_open(&a, &f, KEEP_BYTES_MIN);
	node = push(a.profile, 0, add_process(a.profile, "python3", 7));
	for (int i = 0; i < 400; i++)
		node = push(a.profile, node, code_frame(a.profile, "f", i % 20));
	for (int i = 0; i < 40; i++) {
		for (int k = 0; k < 300; k++)
			sample(&a, node, 7);
		window(&a, 0, 0);
		keep__step(a.keep, a.now_ns);
		assert_true(bytes_in(&f) <= KEEP_BYTES_MIN);
	}
	keep__stats(a.keep, ret);
	assert_int_equal(ret->samples, 12000);
	assert_int_equal(ret->samples_missed, 0);
	agent_close(&a);
	folder_close(&f);
}

static void what_is_oldest_makes_room(void **state)
{
	struct keep_stats stats;

	compression = 0;
	fill_the_folder(&stats);
	compression = 1;
	assert_true(stats.removed > 0 && stats.captures > 2);
	assert_true(stats.bytes > KEEP_BYTES_MIN / 2);
}

static void compressed_captures_need_little_room(void **state)
{
	struct keep_stats stats;

	fill_the_folder(&stats);
	assert_int_equal(stats.removed, 0);
	assert_true(stats.bytes < KEEP_BYTES_MIN / 8);
}

static void a_request_ends_the_capture_with_balanced_accounts(void **state)
{
	struct perf_import_stats stats;
	struct accounts accounts;
	struct merge_stats merged;
	struct folder f;
	struct agent a;
	char path[128];

	folder_open(&f);
	agent_open(&a, &f, KEEP_BYTES_MIN);
	snprintf(path, sizeof(path), "%s/" SLICES_REQUEST, f.keep);
	sample(&a, stack(a.profile, 7, "a", 5), 7);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	/* In the middle of a window. */
	keep__step(a.keep, a.now_ns + 2 * NS_PER_SEC);
	assert_int_equal(access(path, F_OK), -1);
	merge_all(&f, &merged);
	assert_int_equal(merged.samples, 1);
	assert_int_equal(merged.interrupts, 1);
	assert_int_equal(merged.torn, 0);
	sample(&a, stack(a.profile, 7, "b", 5), 7);
	window(&a, 3, 0);
	agent_close(&a);
	merge_all(&f, &merged);
	assert_int_equal(merged.samples, 2);
	assert_int_equal(merged.interrupts, 5);
	assert_int_equal(merged.lost, 3);
	free(read_folded(f.out, &stats, &accounts));
	assert_int_equal(accounts_balance(&accounts), 0);
	folder_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_folder_that_others_write_in_is_refused),
		cmocka_unit_test(captures_made_one_have_what_each_has),
		cmocka_unit_test(a_torn_capture_has_what_was_flushed),
		cmocka_unit_test(what_is_oldest_makes_room),
		cmocka_unit_test(compressed_captures_need_little_room),
		cmocka_unit_test(a_request_ends_the_capture_with_balanced_accounts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
