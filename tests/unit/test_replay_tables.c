/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_replay_tables.c - tables that a process publishes beside its runtime: krait looks for them
 * when it is tracked, and again when it has mapped code, as often as that may help.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "replay_script.h"
#include "record/anchors/anchoring.h"
#include "python/layout/published.h"

#define PID 5000001
#define CHILD 5000002
#define START_NS (900 * 1000000000ULL + 10000000)
#define ADDR 0x7f0000001000ULL

static struct program program;
static const struct published asyncio = {
	.tables[PUBLISHED_ASYNCIO] = {
		ADDR,
		{ { 168, 136, 96, 108, 109, 128, 152, 225864, 10880, 936, 864, 872, 880 } },
	},
};
static const struct actor python = { PID, START_NS, "python", &program, 0x030e0af0 };

static int setup_all(void **state)
{
	program_make(&program, "");
	return 0;
}

static int teardown_all(void **state)
{
	program_drop(&program);
	return 0;
}

/* Returns where it is at the end; 0: not found. */
static __u64 address(struct script *s, pid_t pid)
{
	const struct published *found;
	struct replay *r;
	__u64 addr;

	script_end(s, 60000);
	r = replay_new(s->log, s->size, false);
	replay_follow(r, PID);
	replay_run(r);
	found = replay_published(r, pid);
	assert_non_null(found);
	addr = found->tables[PUBLISHED_ASYNCIO].addr;
	replay_free(r);
	script_free(s);
	return addr;
}

static void what_is_there_is_found_at_once(void **state)
{
	struct script s;

	script_begin(&s);
	script_look(&s, 0, &python);
	script_published(&s, 1, &python, &asyncio);
	script_sample(&s, 10, &python, "ab");
	assert_int_equal(address(&s, PID), ADDR);
}

/* The kernel reports no mappings; perf does. */
static void begin_with_perf(struct script *s)
{
	const struct input_session session = {
		.event_cnt = 1,
		.perf_heard = true,
		.anchors = ANCHOR_MODE_OFF,
		.tables = true,
	};

	script_begin(s);
	script_session(s, &session);
	script_look(s, 0, &python);
}

static void a_mapping_has_it_looked_for_again(void **state)
{
	for (int mapped = 0; mapped < 2; mapped++) {
		struct script s;

		script_begin(&s);
		script_look(&s, 0, &python);
		script_published(&s, 1, &python, NULL);
		script_published(&s, 1, &python, &asyncio);
		if (mapped)
			script_mmap(&s, 500, &python);
		script_sample(&s, 600, &python, "ab");
		assert_int_equal(address(&s, PID), mapped ? ADDR : 0);
	}
}

static void perf_has_it_looked_for_again(void **state)
{
	static const struct actor other = { CHILD, START_NS, "python" };

	for (int mapped = 0; mapped < 4; mapped++) {
		struct script s;

		begin_with_perf(&s);
		script_published(&s, 1, &python, NULL);
		script_published(&s, 1, &python, &asyncio);
		if (mapped)
			script_mapped(&s, 500, mapped == 1 ? &other : mapped == 2 ? &python : NULL);
		script_sample(&s, 600, &python, "ab");
		assert_int_equal(address(&s, PID), mapped > 1 ? ADDR : 0);
	}
}

/* However often reports are lost, a process is looked at every 16 seconds; and at once if it is known to have mapped code. */
static void looks_for_what_was_missed_are_few(void **state)
{
	for (int enough = 0; enough < 2; enough++) {
		struct script s;

		begin_with_perf(&s);
		for (int i = 0; i < (enough ? 3 : 4); i++)
			script_published(&s, 1, &python, NULL);
		script_published(&s, 1, &python, &asyncio);
		for (int ms = 100; ms < 60000; ms += 50)
			script_mapped(&s, ms, NULL);
		assert_int_equal(address(&s, PID), enough ? ADDR : 0);
	}
}

static void a_mapping_does_not_wait_for_what_was_missed(void **state)
{
	const struct published *found;
	struct replay *r;
	struct script s;

	begin_with_perf(&s);
	script_published(&s, 1, &python, NULL);
	script_published(&s, 1, &python, &asyncio);
	script_mapped(&s, 400, NULL);
	script_mapped(&s, 500, &python);
	script_end(&s, 2000);
	r = replay_new(s.log, s.size, false);
	replay_follow(r, PID);
	replay_run(r);
	found = replay_published(r, PID);
	assert_non_null(found);
	assert_int_equal(found->tables[PUBLISHED_ASYNCIO].addr, ADDR);
	replay_free(r);
	script_free(&s);
}

/*
 * perf is ahead of the records: what the process mapped before we take in its fork belongs to no
 * known process.
 */
static void with_perf_a_fork_is_looked_at_by_itself(void **state)
{
	const struct actor child = { CHILD, START_NS + 500000000, "python", &program, 0x030e0af0 };
	struct script s;

	begin_with_perf(&s);
	script_published(&s, 1, &python, NULL);
	script_sample(&s, 10, &python, "ab");
	script_mapped(&s, 19, &child);
	script_fork_of(&s, 20, &child, &python);
	script_published(&s, 20, &child, &asyncio);
	script_sample(&s, 30, &child, "ab");
	script_sample(&s, 600, &child, "ab");
	assert_int_equal(address(&s, CHILD), ADDR);
}

/* One that maps code all the time is looked at ever more rarely. */
static void looks_are_few(void **state)
{
	for (int enough = 0; enough < 2; enough++) {
		struct script s;

		script_begin(&s);
		script_look(&s, 0, &python);
		/* A second has pauses of 10, 20, ... 640 ms; after that it is one a second. */
		for (int i = 0; i < (enough ? 12 : 30); i++)
			script_published(&s, 1, &python, NULL);
		script_published(&s, 1, &python, &asyncio);
		for (int ms = 0; ms < 10000; ms += 5)
			script_mmap(&s, ms, &python);
		assert_int_equal(address(&s, PID), enough ? ADDR : 0);
	}
}

static void a_forked_child_has_what_its_parent_has(void **state)
{
	const struct actor child = { CHILD, START_NS + 500000000, "python", &program, 0x030e0af0 };
	struct script s;

	script_begin(&s);
	script_look(&s, 0, &python);
	script_published(&s, 1, &python, &asyncio);
	script_sample(&s, 10, &python, "ab");
	script_fork_of(&s, 20, &child, &python);
	script_sample(&s, 30, &child, "ab");
	assert_int_equal(address(&s, CHILD), ADDR);
}

/*
 * If its parent had no table, neither has it until it maps something: a host that forks a lot is
 * not searched each time.
 */
static void a_fork_of_one_that_has_none_is_looked_at_when_it_maps(void **state)
{
	const struct actor child = { CHILD, START_NS + 500000000, "python", &program, 0x030e0af0 };

	for (int mapped = 0; mapped < 2; mapped++) {
		struct script s;

		script_begin(&s);
		script_look(&s, 0, &python);
		script_published(&s, 1, &python, NULL);
		script_sample(&s, 10, &python, "ab");
		script_fork_of(&s, 20, &child, &python);
		script_published(&s, 20, &child, &asyncio);
		script_sample(&s, 30, &child, "ab");
		if (mapped)
			script_mmap(&s, 500, &child);
		script_sample(&s, 600, &child, "ab");
		assert_int_equal(address(&s, CHILD), mapped ? ADDR : 0);
	}
}

static void another_image_has_none_of_it(void **state)
{
	const struct actor other = { PID, START_NS, "python", &program, 0x030d00f0 };
	struct script s;

	script_begin(&s);
	script_look(&s, 0, &python);
	script_published(&s, 1, &python, &asyncio);
	script_sample(&s, 10, &python, "ab");
	script_exec(&s, 20, &other);
	script_look(&s, 21, &other);
	script_sample(&s, 40, &other, "ab");
	assert_int_equal(address(&s, PID), 0);
}

static void an_answer_that_cannot_be_is_none(void **state)
{
	struct published bad = asyncio;
	struct script s;

	bad.tables[PUBLISHED_ASYNCIO].asyncio.task_coro = 1 << 20;
	script_begin(&s);
	script_look(&s, 0, &python);
	script_published(&s, 1, &python, &bad);
	assert_int_equal(address(&s, PID), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_there_is_found_at_once),
		cmocka_unit_test(a_mapping_has_it_looked_for_again),
		cmocka_unit_test(perf_has_it_looked_for_again),
		cmocka_unit_test(looks_for_what_was_missed_are_few),
		cmocka_unit_test(a_mapping_does_not_wait_for_what_was_missed),
		cmocka_unit_test(with_perf_a_fork_is_looked_at_by_itself),
		cmocka_unit_test(looks_are_few),
		cmocka_unit_test(a_forked_child_has_what_its_parent_has),
		cmocka_unit_test(a_fork_of_one_that_has_none_is_looked_at_when_it_maps),
		cmocka_unit_test(another_image_has_none_of_it),
		cmocka_unit_test(an_answer_that_cannot_be_is_none),
	};

	return cmocka_run_group_tests(tests, setup_all, teardown_all);
}
