/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_perf_data.c - captures written and read back: nothing is lost, whatever the names.
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
#include "capture/perfdata/format.h"
#include "capture/import/perf_import.h"
#include "profile/opcodes.h"
#include "profile/spots.h"
#include "support_capture.h"
#include "support_profile.h"
#include "base/system/error.h"

/* Input equals output: by function and by line, process by process. */
static void assert_survives(struct profile *p)
{
	const struct emit_options forms[] = { { .lines = true },
					      { .no_process = true },
					      { .lines = true, .no_process = true } };
	struct perf_import_stats stats;
	struct profile *again;
	struct capture c;

	capture_open(&c);
	capture_write(c.file, p);
	again = capture_read(&c, &stats);
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

/* More functions than fit into one generation of the DSO, each in some sample. */
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
	struct emit_options two = capture_options;
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
	again = capture_read(&c, &stats);
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
	capture_write(c.file, p);
	again = capture_read(&c, &stats);
	assert_string_equal(stats.facts.host, capture_options.recording.host);
	assert_int_equal(stats.facts.wall_offset_ns, capture_options.recording.began_wall_ns);
	assert_string_equal(stats.facts.kernel, capture_options.recording.kernel);
	assert_string_equal(stats.facts.command_line, capture_options.recording.command_line);
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

/* elfutils has 8 bits for the field that encodes the end column: lines survive anyway. */
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

/*
 * A place that is mapped once for each opcode, in more code objects than fit into one library of
 * the capture.
 */
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
		/* One in three has none; in the others, each unit occurs in several forms. */
		f.opcode = i % 3 ? opcode_of(0x030f0000, (__u8)(1 + i % 200)) : 0;
		caller = push(p, thread, dict__frame(p->dict, &f));
		add_samples(p, caller, 1);
		f.opcode = opcode_of(0x030b0000, (__u8)(1 + i % 2));
		add_samples(p, push(p, caller, dict__frame(p->dict, &f)), 1);
	}
	capture_open(&c);
	capture_write(c.file, p);
	again = capture_read(&c, &stats);
	assert_int_equal(stats.unresolved, 0);
	assert_same_spots(p, again);
	profile__free(again);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
