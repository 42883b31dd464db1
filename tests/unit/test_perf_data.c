/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_perf_data.c - captures written and read back: nothing is lost on the way, whatever the names,
 * and damaged files say so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "cmd/formats.h"
#include "perfdata/format.h"
#include "import/perf_import.h"
#include "profile/opcodes.h"
#include "profile/spots.h"
#include "support_profile.h"
#include "util/error.h"

static struct emit_options options = {
	.recording.command_line = "krait record -o x.data",
	.recording.host = "ada-laptop",
	.recording.kernel = "6.18.5",
	.recording.seconds = 2.5,
	.recording.frequency = 997,
	.recording.began_wall_ns = 1771000000000000000LL,
};

/* A folder of its own, also for what goes into the build-id cache. */
struct capture {
	char folder[64], path[96];
	FILE *file;
};

static void capture_open(struct capture *c)
{
	strcpy(c->folder, "/tmp/krait-test-XXXXXX");
	assert_non_null(mkdtemp(c->folder));
	setenv("PERF_BUILDID_DIR", c->folder, 1);
	snprintf(c->path, sizeof(c->path), "%s/x.data", c->folder);
	c->file = fopen(c->path, "w+");
	assert_non_null(c->file);
}

static void capture_close(struct capture *c)
{
	char command[128];

	fclose(c->file);
	snprintf(command, sizeof(command), "rm -rf %s", c->folder);
	assert_int_equal(system(command), 0);
}

/* The process and thread that a node hangs on. */
static void find_task(const struct profile *p, __u32 node, struct profile_sample *s,
		      const char **ret_comm)
{
	for (; node; node = dict__node_at(p->dict, node)->parent) {
		const struct profile_frame *f =
			dict__frame_at(p->dict, dict__node_at(p->dict, node)->frame);

		if (f->kind == FRAME_THREAD) {
			s->tid = f->tid;
			*ret_comm = dict__text(p->dict, f->name);
		}
		if (f->kind == FRAME_PROCESS) {
			s->pid = f->pid;
			if (!s->tid)
				s->tid = f->pid;
		}
	}
}

/* Of two CPUs, whose records are not quite in the order of time: the first one, too, is later. */
static void write_capture(FILE *out, const struct profile *p)
{
	const struct emitter_ops *ops = format_by_name("perf");
	struct profile_sample s = { .period = 1003009 };
	struct emitter *e;
	__u64 number = 0;

	assert_int_equal(ops->open(&e, out, &options), 0);
	for (s.node = 0; s.node <= dict__node_cnt(p->dict); s.node++) {
		char comm[64];
		const char *name = "?";

		s.pid = s.tid = 0;
		find_task(p, s.node, &s, &name);
		snprintf(comm, sizeof(comm), "%s", name);
		s.comm = comm;
		for (__u64 k = 0; k < counts__at(profile__counts(p, 0), s.node).samples; k++) {
			number++;
			s.cpu = number % 2;
			s.time_ns = (number + 2 * s.cpu) * s.period;
			assert_int_equal(ops->sample(e, p, &s), 0);
		}
	}
	assert_int_equal(ops->finish(e, p, 0), 0);
	ops->free(e);
}

static struct profile *read_capture(const struct capture *c, struct perf_import_stats *stats)
{
	const struct perf_import_config config = { .path = c->path };
	FILE *in = fopen(c->path, "r");
	struct profile *p = profile__new();
	struct error err;

	assert_non_null(in);
	if (perf_import(p, in, &config, stats, &err))
		fail_msg("%s", err.text);
	fclose(in);
	return p;
}

/* What goes in comes out: by function and by line, process by process. */
static void assert_survives(struct profile *p)
{
	const struct emit_options forms[] = { { .lines = true },
					      { .no_process = true },
					      { .lines = true, .no_process = true } };
	struct perf_import_stats stats;
	struct profile *again;
	struct capture c;

	capture_open(&c);
	write_capture(c.file, p);
	again = read_capture(&c, &stats);
	assert_int_equal(stats.samples, sample_cnt(p));
	assert_int_equal(sample_cnt(again), sample_cnt(p));
	assert_int_equal(stats.unresolved, 0);
	assert_int_equal(stats.read.skipped, 0);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		char *want = emit_text("folded", p, &forms[i]);
		char *got = emit_text("folded", again, &forms[i]);

		assert_string_equal(got, want);
		free(want);
		free(got);
	}
	profile__free(again);
	profile__free(p);
	capture_close(&c);
}

static void a_small_profile_survives(void **state)
{
	assert_survives(small_profile());
}

static void hostile_names_survive(void **state)
{
	assert_survives(hostile_profile());
}

static void deep_stacks_survive(void **state)
{
	assert_survives(deep_profile(2000));
}

static void a_large_profile_survives(void **state)
{
	assert_survives(large_profile(3000));
}

/* More functions than one generation of the DSO takes, each met in some sample. */
static void many_functions_survive(void **state)
{
	struct profile *p = profile__new();
	__u32 thread = push(p, push(p, 0, add_process(p, "py", 5)), add_thread(p, "py", 5, 5));

	for (int i = 0; i < 20000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "f%d", i);
		add_samples(p, push(p, thread, add_function(p, name, "/srv/a.py", i + 1, i + 1)),
			    1);
	}
	assert_survives(p);
}

/* Each event comes back with its own name, period, counts and accounts. */
static void events_stay_apart(void **state)
{
	static const struct event_spec specs[] = {
		{ .name = "cpu-clock", .type = 1, .frequency = 997 },
		{ .name = "faults", .type = 1, .config = 2, .period = 3, .exclude_kernel = true },
	};
	struct emit_options two = options;
	struct profile *p = small_profile(), *again;
	const struct emitter_ops *ops = format_by_name("perf");
	struct profile_sample s = { .pid = 4711, .tid = 4711, .comm = "x", .node = 5 };
	const struct counts *e;
	struct perf_import_stats stats;
	struct emitter *emitter;
	struct capture c;

	capture_open(&c);
	two.recording.events = specs;
	two.recording.event_cnt = 2;
	assert_int_equal(profile__set_event(p, 1, &specs[1]), 0);
	profile__counts(p, 1)->accounts =
		(struct accounts){ .interrupts = 40,
				   .reasons = { [REASON_PYTHON] = 30, [REASON_RING_FULL] = 10 } };
	assert_int_equal(ops->open(&emitter, c.file, &two), 0);
	for (int i = 0; i < 40; i++) {
		s.time_ns += 1000;
		s.event = i % 4 != 0; /* 10 of the first, 30 of the second */
		s.period = s.event ? 3 : 1003009;
		assert_int_equal(ops->sample(emitter, p, &s), 0);
	}
	assert_int_equal(ops->finish(emitter, p, 0), 0);
	ops->free(emitter);
	again = read_capture(&c, &stats);
	assert_int_equal(stats.events, 2);
	assert_int_equal(stats.samples, 40);
	assert_int_equal(sample_cnt(again), 10);
	e = profile__counts(again, 1);
	assert_string_equal(e->event.name, "faults");
	assert_int_equal(e->event.config, 2);
	assert_int_equal(e->event.period, 3);
	assert_true(e->event.exclude_kernel);
	assert_int_equal(e->samples, 30);
	assert_int_equal(e->weight, 90);
	assert_int_equal(e->accounts.interrupts, 40);
	assert_int_equal(e->accounts.reasons[REASON_RING_FULL], 10);
	assert_int_equal(accounts_balance(&e->accounts), 0);
	assert_int_equal(stats.event, 0);
	profile__free(again);
	profile__free(p);
	capture_close(&c);
}

static void facts_and_accounts_survive(void **state)
{
	struct profile *p = small_profile(), *again;
	struct perf_import_stats stats;
	char want[512], got[512];
	struct capture c;

	capture_open(&c);
	write_capture(c.file, p);
	again = read_capture(&c, &stats);
	assert_string_equal(stats.facts.host, options.recording.host);
	assert_int_equal(stats.facts.wall_offset_ns, options.recording.began_wall_ns);
	assert_string_equal(stats.facts.kernel, options.recording.kernel);
	assert_string_equal(stats.facts.command_line, options.recording.command_line);
	assert_string_equal(profile__counts(again, 0)->event.name, "cpu-clock");
	assert_int_equal(stats.events, 1);
	assert_int_equal(stats.recording.frequency, 997);
	assert_true(stats.recording.seconds == 2.5);
	assert_int_equal(stats.lost,
			 accounts_total(&profile__counts(p, 0)->accounts, OUTCOME_LOST));
	accounts_format(&profile__counts(p, 0)->accounts, want, sizeof(want));
	accounts_format(&profile__counts(again, 0)->accounts, got, sizeof(got));
	assert_string_equal(got, want);
	profile__free(p);
	profile__free(again);
	capture_close(&c);
}

static void a_code_object_gives_each_unit_its_line(void **state)
{
	/* Two entries without columns: units 0-3 on line 11, units 4-5 on line 9. */
	static const __u8 lines[] = { 0x80 | 13 << 3 | 3, 2, 0x80 | 13 << 3 | 1, 5 };
	struct profile *p = profile__new();
	const struct profile_code code = {
		.name = dict__string(p->dict, "f"),
		.file = dict__string(p->dict, "/a.py"),
		.first_line = 10,
		.unit_cnt = 6,
		.lines = lines,
		.lines_size = sizeof(lines),
	};
	struct profile_frame f = { .name = code.name,
				   .file = code.file,
				   .first_line = 10,
				   .column = -1,
				   .code = dict__code(p->dict, &code) };
	const int want[] = { 11, 11, 11, 11, 9, 9 };
	__u32 thread = push(p, push(p, 0, add_process(p, "py", 5)), add_thread(p, "py", 5, 5));

	for (f.unit = 0; f.unit < 6; f.unit++) {
		f.line = want[f.unit];
		add_samples(p, push(p, thread, dict__frame(p->dict, &f)), (unsigned)f.unit + 1);
	}
	/* Somewhere in it, and before its first instruction. */
	f.unit = -1;
	f.line = -1;
	add_samples(p, push(p, thread, dict__frame(p->dict, &f)), 10);
	f.line = 10;
	add_samples(p, push(p, thread, dict__frame(p->dict, &f)), 20);
	assert_survives(p);
}

/* elfutils has 8 bits for what stands for the end of a column: lines are there all the same. */
static void a_wide_line_keeps_its_number(void **state)
{
	/* One unit at columns 400 to 424 of line 11, one on line 12. */
	static const __u8 lines[] = { 0x80 | 14 << 3, 2, 0, 0x51, 6, 0x69, 6, 0x80 | 13 << 3, 2 };
	struct profile *p = profile__new();
	const struct profile_code code = {
		.name = dict__string(p->dict, "f"),
		.file = dict__string(p->dict, "<string>"),
		.first_line = 10,
		.unit_cnt = 2,
		.lines = lines,
		.lines_size = sizeof(lines),
	};
	struct profile_frame f = { .name = code.name,
				   .file = code.file,
				   .first_line = 10,
				   .line = 11,
				   .column = 400,
				   .end_column = -1,
				   .code = dict__code(p->dict, &code) };
	__u32 thread = push(p, push(p, 0, add_process(p, "py", 5)), add_thread(p, "py", 5, 5));

	add_samples(p, push(p, thread, dict__frame(p->dict, &f)), 3);
	f.unit = 1;
	f.line = 12;
	f.column = -1;
	add_samples(p, push(p, thread, dict__frame(p->dict, &f)), 2);
	assert_survives(p);
}

static void assert_same_spots(struct profile *a, struct profile *b)
{
	struct spots x, y;

	assert_int_equal(spots_make(&x, profile__counts(a, 0)), 0);
	assert_int_equal(spots_make(&y, profile__counts(b, 0)), 0);
	assert_int_equal(x.cnt, y.cnt);
	for (__u32 i = 0; i < x.cnt; i++) {
		const struct spot *s = &x.list[i], *t = &y.list[i];

		assert_string_equal(dict__text(x.dict, s->name), dict__text(y.dict, t->name));
		assert_int_equal(s->line, t->line);
		assert_int_equal(s->column, t->column);
		assert_int_equal(s->end_column, t->end_column);
		assert_int_equal(s->unit, t->unit);
		assert_int_equal(s->opcode, t->opcode);
		assert_int_equal(s->self, t->self);
		assert_int_equal(s->total, t->total);
	}
	spots_free(&x);
	spots_free(&y);
}

/* A place that is mapped once for each opcode, in more code objects than one library of the capture has. */
static void columns_and_opcodes_survive(void **state)
{
	enum { FUNCTIONS = 9000 };
	/* Units 0 and 1: columns 10 to 14; 2: the same line, columns 12 to 13; 3: another line, no columns. */
	static const __u8 lines[] = { 0x80 | 1 << 3 | 1, 0x24, 0x80 | 1 << 3, 0x41,
				      0x80 | 13 << 3,	 2 };
	static const int columns[][2] = { { 10, 14 }, { 10, 14 }, { 12, 13 }, { -1, -1 } };
	struct profile *p = profile__new(), *again;
	struct perf_import_stats stats;
	struct capture c;
	__u32 thread = push(p, push(p, 0, add_process(p, "py", 5)), add_thread(p, "py", 5, 5));

	for (unsigned i = 0; i < FUNCTIONS; i++) {
		char name[16];
		struct profile_code code = {
			.first_line = 10, .unit_cnt = 4, .lines = lines, .lines_size = sizeof(lines)
		};
		struct profile_frame f = { .first_line = 10 };
		__u32 caller;

		snprintf(name, sizeof(name), "f%u", i);
		f.name = code.name = dict__string(p->dict, name);
		f.file = code.file = dict__string(p->dict, "/a.py");
		f.code = dict__code(p->dict, &code);
		f.unit = (int)i % 4;
		f.line = f.unit == 3 ? 11 : 10;
		f.column = columns[f.unit][0];
		f.end_column = columns[f.unit][1];
		/* One in three without; of the others, each unit in several forms. */
		f.opcode = i % 3 ? opcode_of(0x030f0000, (__u8)(1 + i % 200)) : 0;
		caller = push(p, thread, dict__frame(p->dict, &f));
		add_samples(p, caller, 1);
		f.opcode = opcode_of(0x030b0000, (__u8)(1 + i % 2));
		add_samples(p, push(p, caller, dict__frame(p->dict, &f)), 1);
	}
	capture_open(&c);
	write_capture(c.file, p);
	again = read_capture(&c, &stats);
	assert_int_equal(stats.unresolved, 0);
	assert_same_spots(p, again);
	profile__free(again);
	profile__free(p);
	capture_close(&c);
}

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
	write_capture(out, p);
	fclose(out);
	in = fmemopen(text, size, "r");
	assert_int_equal(perf_import(again, in, &config, &stats, &err), 0);
	want = emit_text("folded", p, &(struct emit_options){ .lines = true });
	got = emit_text("folded", again, &(struct emit_options){ .lines = true });
	assert_string_equal(got, want);
	assert_string_equal(stats.facts.host, options.recording.host);
	fclose(in);
	free(text);
	free(want);
	free(got);
	profile__free(p);
	profile__free(again);
	capture_close(&c);
}

/* Every shorter file and one with a damaged byte is an error or fewer samples, never a crash. */
static void damaged_files_give_less(void **state)
{
	struct profile *p = small_profile();
	struct capture c;
	char *text;
	long size;

	capture_open(&c);
	write_capture(c.file, p);
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
	assert_int_equal(ops->open(&e, c.file, &options), 0);
	for (s.node = 3; s.time_ns < 20000000000ULL; s.time_ns += 10000000) {
		assert_int_equal(ops->sample(e, p, &s), 0);
		assert_int_equal(ops->flush(e, p, s.time_ns), 0);
	}
	again = read_capture(&c, &stats);
	/* All but those since the last flush, a second ago. */
	assert_true(stats.samples >= 1899);
	assert_int_equal(stats.unresolved, 0);
	assert_true(stats.read.unfinished);
	/* Without a date of its own, it is as old as its file. */
	assert_in_range(stats.facts.wall_offset_ns + (__s64)stats.last_ns,
			((__s64)time(NULL) - 60) * 1000000000,
			((__s64)time(NULL) + 1) * 1000000000);
	assert_int_equal(accounts_balance(&profile__counts(again, 0)->accounts), 0);
	ops->free(e);
	profile__free(p);
	profile__free(again);
	capture_close(&c);
}

/* The target sleeps: what it did before is on disk a second later all the same. */
static void an_idle_capture_is_flushed_by_the_clock(void **state)
{
	const struct emitter_ops *ops = format_by_name("perf");
	struct profile_sample s = { .pid = 4711, .tid = 4711, .comm = "x", .node = 5, .period = 1 };
	struct profile *p = small_profile(), *again;
	struct perf_import_stats stats;
	struct emitter *e;
	struct capture c;

	capture_open(&c);
	assert_int_equal(ops->open(&e, c.file, &options), 0);
	for (int i = 0; i < 10; i++) {
		s.time_ns += 1000;
		assert_int_equal(ops->sample(e, p, &s), 0);
	}
	again = read_capture(&c, &stats);
	assert_int_equal(stats.samples, 1);
	profile__free(again);
	assert_int_equal(ops->flush(e, p, s.time_ns + 100000000), 0);
	again = read_capture(&c, &stats);
	assert_int_equal(stats.samples, 1);
	profile__free(again);
	assert_int_equal(ops->flush(e, p, s.time_ns + 1000000000), 0);
	again = read_capture(&c, &stats);
	assert_int_equal(stats.samples, 10);
	profile__free(again);
	ops->free(e);
	profile__free(p);
	capture_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_profile_survives),
		cmocka_unit_test(hostile_names_survive),
		cmocka_unit_test(deep_stacks_survive),
		cmocka_unit_test(a_large_profile_survives),
		cmocka_unit_test(many_functions_survive),
		cmocka_unit_test(facts_and_accounts_survive),
		cmocka_unit_test(events_stay_apart),
		cmocka_unit_test(a_code_object_gives_each_unit_its_line),
		cmocka_unit_test(a_wide_line_keeps_its_number),
		cmocka_unit_test(columns_and_opcodes_survive),
		cmocka_unit_test(a_pipe_gives_what_a_file_gives),
		cmocka_unit_test(damaged_files_give_less),
		cmocka_unit_test(a_writer_that_dies_leaves_its_samples),
		cmocka_unit_test(an_idle_capture_is_flushed_by_the_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
