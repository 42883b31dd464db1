/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_replay_names.c - the names that a program gives its threads, which krait reads while they
 * run: the last one counts, for the thread that was meant and no other.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay_scene.h"
#include "support_profile.h"

#define THREAD_NS (START_NS + 500000000)

/* The answer about threads 1, 2 and so on, in the order of their first samples; NULL: none. */
static void names(struct script *s, double ms, const char *first, const char *second)
{
	const char *const list[] = { first, second };
	struct probe_names found = { .cnt = 0 };

	for (__u32 i = 0; i < 2; i++) {
		if (!list[i])
			continue;
		found.list[found.cnt].number = i + 1;
		strcpy(found.list[found.cnt++].name, list[i]);
	}
	script_names(s, ms, &python, &found);
}

static void begin(struct script *s)
{
	script_begin(s);
	script_look(s, 0, &python);
	script_open(s, 0, &python);
}

/* With threads; the file of the functions is left out. */
static void expect(struct script *s, const char *want)
{
	const struct emit_options options = { .threads = true };
	struct replay *r = scene_replay(s, false);
	char *got = emit_text("folded", replay_profile(r), &options), *at;

	while ((at = strstr(got, " (p.py)")))
		memmove(at, at + 7, strlen(at + 7) + 1);
	assert_string_equal(got, want);
	free(got);
	replay_free(r);
	script_free(s);
}

static void sample(struct script *s, double ms, const char *frames)
{
	script_named_sample(s, ms, &python, THREAD, THREAD_NS, frames);
}

static void the_name_counts_for_samples_before_it(void **state)
{
	struct script s;

	begin(&s);
	sample(&s, 10, "ab");
	names(&s, 12, "worker-1", NULL);
	sample(&s, 14, "ab");
	expect(&s, "old;worker-1/5000003;a;b 2\n");
}

static void the_last_name_counts(void **state)
{
	struct script s;

	begin(&s);
	sample(&s, 10, "ab");
	names(&s, 12, "idle", NULL);
	for (int ms = 100; ms < 2000; ms += 100)
		sample(&s, ms, "ab");
	names(&s, 900, "request 7", NULL);
	names(&s, 1800, "request 8", NULL);
	expect(&s, "old;request 8/5000003;a;b 20\n");
}

/* It has ended before it was looked at, or a look came too late. */
static void without_a_name_it_has_the_kernels(void **state)
{
	struct script s;

	begin(&s);
	sample(&s, 10, "ab");
	names(&s, 12, NULL, NULL);
	sample(&s, 20, "ab");
	script_thread_exit(&s, 30, &python, THREAD, THREAD_NS);
	names(&s, 60, "of another one", NULL);
	script_sample(&s, 70, &python, "a");
	expect(&s, "old;old/5000001;a 1\nold;old/5000003;a;b 2\n");
}

static void begin_with_ended_thread(struct script *s)
{
	begin(s);
	sample(s, 10, "ab");
	names(s, 12, "worker-1", NULL);
	script_thread_exit(s, 30, &python, THREAD, THREAD_NS);
}

/* The kernel reports the end before the last samples. */
static void a_thread_that_ends_keeps_its_name(void **state)
{
	struct script s;

	begin_with_ended_thread(&s);
	sample(&s, 31, "ab");
	expect(&s, "old;worker-1/5000003;a;b 2\n");
}

static void the_next_thread_of_an_id_has_its_own_name(void **state)
{
	struct script s;

	begin_with_ended_thread(&s);
	script_named_sample(&s, 40, &python, THREAD, THREAD_NS + 1000000000, "ac");
	names(&s, 42, NULL, "worker-2");
	expect(&s, "old;worker-1/5000003;a;b 1\nold;worker-2/5000003;a;c 1\n");
}

static void expect_of_first_thread(const char *name, const char *want)
{
	struct script s;

	begin(&s);
	script_named_sample(&s, 10, &python, PID, START_NS, "ab");
	names(&s, 1100, name, NULL);
	script_named_sample(&s, 2000, &python, PID, START_NS, "ab");
	expect(&s, want);
}

static void python_names_every_first_thread_alike(void **state)
{
	expect_of_first_thread("MainThread", "old;old/5000001;a;b 2\n");
	expect_of_first_thread("Boss", "old;Boss/5000001;a;b 2\n");
}

/* Nobody else sends such answers, but then nothing is read from them. */
static void an_answer_that_makes_no_sense_is_none(void **state)
{
	const struct probe_request r = { .op = PROBE_NAMES,
					 .pid = PID,
					 .start_ticks = START_NS / KRAIT_NS_PER_TICK };
	struct {
		struct input_answer head;
		struct probe_names names;
	} value = { .head = { .answered = 1 }, .names = { .cnt = 1 } };

	value.names.list[0].number = 1;
	memset(value.names.list[0].name, 'x', PROBE_NAME_SIZE);
	for (int kind = 0; kind < 3; kind++) {
		struct script s;

		begin(&s);
		sample(&s, 10, "ab");
		value.names.cnt = kind == 1 ? PROBE_NAMES_MAX + 1 : 1;
		script_put(&s, INPUT_ANSWER, 12, &r, sizeof(r), &value,
			   sizeof(value.head) + (kind == 2 ? 8 : probe_names_size(1)));
		sample(&s, 20, "ab");
		expect(&s, "old;old/5000003;a;b 2\n");
	}
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_name_counts_for_samples_before_it),
		T(the_last_name_counts),
		T(without_a_name_it_has_the_kernels),
		T(a_thread_that_ends_keeps_its_name),
		T(the_next_thread_of_an_id_has_its_own_name),
		T(python_names_every_first_thread_alike),
		T(an_answer_that_makes_no_sense_is_none),
	};

	return cmocka_run_group_tests_name("record/follow/name_watch", tests, scene_setup,
					   scene_teardown);
}
