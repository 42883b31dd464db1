/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_write_waits.c - waits in perf.data: a pair of switches around each wait's samples, from
 * which readers recover when each part began.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cmd/common/formats.h"
#include "capture/import/perf_import.h"
#include "capture/perfdata/perf_reader.h"
#include "profile/states.h"
#include "support_folder.h"
#include "support_profile.h"
#include "base/system/error.h"

#define MOST 16

struct fixture {
	struct profile *profile;
	__u32 node;
	FILE *file;
	char folder[64], path[96];
	struct profile_sample seen[MOST];
	unsigned cnt;
};

static const struct emit_options options = { .title = "krait", .recording.frequency = 997 };

static int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct event_spec off;
	__u32 thread;

	event_off_cpu(&off, 1000000);
	f->profile = profile__new();
	assert_int_equal(profile__set_event(f->profile, 1, &off), 0);
	thread = push(f->profile, push(f->profile, 0, add_process(f->profile, "python3", 7)),
		      add_thread(f->profile, "main", 7, 7));
	f->node = push(f->profile, thread, add_function(f->profile, "wait", "/app/a.py", 1, 9));
	test_folder_make(f->folder);
	setenv("PERF_BUILDID_DIR", f->folder, 1);
	snprintf(f->path, sizeof(f->path), "%s/x.data", f->folder);
	f->file = fopen(f->path, "w+");
	*state = f;
	return !f->file;
}

static int end(void **state)
{
	struct fixture *f = *state;

	fclose(f->file);
	profile__free(f->profile);
	test_folder_remove(f->folder);
	free(f);
	return 0;
}

static struct profile_sample wait_of(const struct fixture *f, int tid, __u64 from_ns, __u64 to_ns,
				     enum state state)
{
	return (struct profile_sample){ .time_ns = to_ns,
					.from_ns = from_ns,
					.period = to_ns - from_ns,
					.node = f->node,
					.state = state,
					.pid = 7,
					.tid = tid,
					.comm = "main",
					.event = 1 };
}

static struct profile_sample tick_of(const struct fixture *f, int tid, __u64 time_ns)
{
	struct profile_sample s = wait_of(f, tid, 0, time_ns, STATE_PYTHON);

	s.event = 0;
	return s;
}

static void write_all(struct fixture *f, const struct profile_sample *list, unsigned cnt)
{
	const struct emitter_ops *ops = format_by_name("perf");
	struct emitter *e;

	assert_int_equal(ops->open(&e, f->file, &options), 0);
	for (unsigned i = 0; i < cnt; i++)
		assert_int_equal(ops->sample(e, f->profile, &list[i]), 0);
	assert_int_equal(ops->finish(e, f->profile, 0), 0);
	ops->free(e);
	fflush(f->file);
}

static void keep(void *ctx, const struct profile *p, const struct profile_sample *s)
{
	struct fixture *f = ctx;

	assert_true(f->cnt < MOST);
	f->seen[f->cnt++] = *s;
}

static void import_all(struct fixture *f, __u64 states)
{
	const struct perf_import_config config = {
		.path = f->path, .on_sample = keep, .ctx = f, .filter.states = states
	};
	struct profile *p = profile__new();
	struct perf_import_stats stats;
	FILE *in = fopen(f->path, "r");
	struct error err;

	assert_non_null(in);
	f->cnt = 0;
	assert_int_equal(perf_import(p, in, &config, &stats, &err), 0);
	fclose(in);
	profile__free(p);
}

/* "O100 S200 I200": switches out and in, and samples, in file order. */
static void assert_records(const struct fixture *f, const char *want)
{
	FILE *in = fopen(f->path, "r");
	struct perf_reader *reader;
	char text[512] = "";
	struct perf_read r;
	struct error err;

	assert_int_equal(perf_reader__open(&reader, in, f->path, &err), 0);
	while (perf_reader__next(reader, &r) > 0) {
		size_t len = strlen(text);

		if (r.kind == PERF_READ_SWITCH || r.kind == PERF_READ_SAMPLE)
			snprintf(text + len, sizeof(text) - len, "%s%c%llu/%d", len ? " " : "",
				 r.kind == PERF_READ_SAMPLE ? 'S' :
				 r.out			    ? 'O' :
							      'I',
				 (unsigned long long)r.time_ns, r.tid);
	}
	assert_string_equal(text, want);
	perf_reader__free(reader);
	fclose(in);
}

static void a_wait_lies_between_its_switches(void **state)
{
	struct fixture *f = *state;
	const struct profile_sample list[] = { tick_of(f, 7, 50),
					       wait_of(f, 7, 100, 200, STATE_LOCK),
					       wait_of(f, 7, 300, 450, STATE_SLEEP) };

	write_all(f, list, 3);
	assert_records(f, "S50/7 O100/7 S200/7 I200/7 O300/7 S450/7 I450/7");
	import_all(f, 0);
	assert_int_equal(f->cnt, 3);
	assert_int_equal(f->seen[0].from_ns, 0);
	assert_int_equal(f->seen[1].from_ns, 100);
	assert_int_equal(f->seen[2].from_ns, 300);
}

/*
 * The wait itself and the time until it had a CPU: two samples, one pair; another thread's may lie
 * between.
 */
static void parts_of_a_wait_are_one_pair(void **state)
{
	struct fixture *f = *state;
	const struct profile_sample list[] = { wait_of(f, 7, 100, 180, STATE_IO),
					       wait_of(f, 7, 180, 200, STATE_RUNNABLE),
					       wait_of(f, 8, 180, 210, STATE_RUNNABLE) };

	write_all(f, list, 3);
	assert_records(f, "O100/7 S180/7 S200/7 I200/7 O180/8 S210/8 I210/8");
	import_all(f, 0);
	assert_int_equal(f->cnt, 3);
	assert_int_equal(f->seen[0].from_ns, 100);
	assert_int_equal(f->seen[1].from_ns, 180);
	assert_int_equal(f->seen[2].from_ns, 180);
}

/* A filter left out the first part, but it still says when the second began. */
static void a_part_alone_keeps_its_length(void **state)
{
	struct fixture *f = *state;
	const struct profile_sample list[] = { wait_of(f, 7, 100, 180, STATE_IO),
					       wait_of(f, 7, 180, 200, STATE_RUNNABLE) };

	write_all(f, list, 2);
	import_all(f, 1ULL << STATE_RUNNABLE);
	assert_int_equal(f->cnt, 1);
	assert_int_equal(f->seen[0].from_ns, 180);
}

/*
 * A sample of CPU time does not end the wait of a thread that has not returned; a moment is no
 * wait.
 */
static void what_is_no_wait_has_no_switches(void **state)
{
	struct fixture *f = *state;
	struct profile_sample moment = wait_of(f, 7, 0, 200, STATE_WAITING);
	const struct profile_sample list[] = { tick_of(f, 7, 50), moment, tick_of(f, 8, 250) };

	write_all(f, list, 3);
	assert_records(f, "S50/7 S200/7 S250/8");
	import_all(f, 0);
	assert_int_equal(f->seen[1].from_ns, 0);
}

static void who_held_the_lock_is_known_again(void **state)
{
	struct fixture *f = *state;
	struct profile_sample list[] = { tick_of(f, 7, 500), wait_of(f, 7, 1000, 6000, STATE_GIL),
					 wait_of(f, 7, 7000, 9000, STATE_LOCK) };

	list[0].holder = 99; /* a mere wait has no holder */
	list[1].holder = 4194304;
	list[1].state |= STATE_STILL_WAITS | STATE_EXCEPTION | 3U << STATE_GIL_SHIFT;
	write_all(f, list, 3);
	import_all(f, 0);
	assert_int_equal(f->cnt, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(f->seen[i].state, list[i].state);
	assert_int_equal(f->seen[0].holder, 0);
	assert_int_equal(f->seen[1].holder, 4194304);
	assert_int_equal(f->seen[2].holder, 0);
	f->cnt = 0;
	assert_int_equal(states_parse(&list[0].period, "exception"), 0);
	import_all(f, list[0].period);
	assert_int_equal(f->cnt, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_wait_lies_between_its_switches, begin, end),
		cmocka_unit_test_setup_teardown(parts_of_a_wait_are_one_pair, begin, end),
		cmocka_unit_test_setup_teardown(a_part_alone_keeps_its_length, begin, end),
		cmocka_unit_test_setup_teardown(what_is_no_wait_has_no_switches, begin, end),
		cmocka_unit_test_setup_teardown(who_held_the_lock_is_known_again, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
