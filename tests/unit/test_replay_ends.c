/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_replay_ends.c - processes and threads end in any order, and their numbers are reused.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "profile/profile.h"
#include "replay_scene.h"

static void a_leader_that_exits_first_leaves_its_process(void **state)
{
	struct script s;

	script_begin(&s);
	script_look(&s, 0, &python);
	script_sample(&s, 10, &python, "ab");
	script_thread_sample(&s, 11, &python, THREAD, START_NS + 5, "ac");
	script_thread_exit(&s, 20, &python, PID, START_NS);
	script_thread_sample(&s, 21, &python, THREAD, START_NS + 5, "ac");
	script_thread_sample(&s, 22, &python, THREAD, START_NS + 5, "abc");
	script_thread_exit(&s, 23, &python, THREAD, START_NS + 5);
	script_exit(&s, 24, &python, 0);
	scene_expect(&s, false, "old;a;b 1\nold;a;b;c 1\nold;a;c 2\n", 0);
}

/*
 * The exit record has the count of interrupts without room; without an exit record, krait asks the
 * kernel.
 */
static void interrupts_without_room_are_counted_once(void **state)
{
	for (int ends = 0; ends < 2; ends++) {
		struct script s;
		struct replay *r;

		script_begin(&s);
		script_look(&s, 0, &python);
		script_sample(&s, 10, &python, "ab");
		script_dropped(&s, 0, &python, 7);
		if (ends)
			script_exit(&s, 20, &python, 7);
		script_end(&s, 60000);
		r = replay_new(s.log, s.size, false);
		replay_follow(r, PID);
		replay_run(r);
		assert_int_equal(replay_lost(r, PID, REASON_RING_FULL), 7);
		replay_free(r);
		script_free(&s);
	}
}

/* The first one's end and the second one's fork may both have been dropped. */
static void the_next_process_of_a_pid_is_another_one(void **state)
{
	const struct actor next = { PID, START_NS + 700000000, "new", &new };

	for (int told = 0; told < 4; told++) {
		struct script s;

		script_begin(&s);
		script_start(&s, 0, &python);
		script_look(&s, 0, &python);
		script_sample(&s, 10, &python, "ab");
		if (told & 1)
			script_exit(&s, 20, &python, 0);
		script_start(&s, 30, &next);
		script_look(&s, 30, &next);
		if (told & 2)
			script_exec(&s, 31, &next);
		script_sample(&s, 40, &next, "ab");
		script_sample(&s, 41, &next, "ab");
		scene_expect(&s, false, "new;Na;Nb 2\nold;a;b 1\n", 0);
	}
}

/*
 * A record of the first process arrives when the second is known: it is not attributed to the
 * second.
 */
static void a_late_record_is_not_the_next_process(void **state)
{
	const struct actor next = { PID, START_NS + 700000000, "new", &new };
	struct script s;
	struct replay *r;

	script_begin(&s);
	script_look(&s, 0, &next);
	script_sample(&s, 10, &python, "ab");
	script_exit(&s, 11, &python, 0);
	script_sample(&s, 12, &next, "ab");
	script_end(&s, 60000);
	r = replay_new(s.log, s.size, false);
	replay_follow(r, PID);
	replay_run(r);
	assert_string_equal(scene_stacks(r), "new;Na;Nb 1\n");
	assert_int_equal(replay_reason(r, REASON_NO_PROCESS), 1);
	replay_free(r);
	script_free(&s);
}

/* The look's answer is about the pid's next process, not the intended one. */
static void a_look_that_finds_another_process_is_no_look(void **state)
{
	const struct actor shell = { CHILD, START_NS + 500000000, "sh", &old };
	const struct actor next = { CHILD, START_NS + 900000000, "new", &new };
	struct script s;

	script_begin(&s);
	script_look(&s, 0, &python);
	script_fork(&s, 20, &shell, PID);
	script_exec(&s, 22, &shell);
	script_look(&s, 22, &next);
	script_sample(&s, 23, &shell, "ab");
	scene_expect(&s, false, "", 0);
}

/* Of processes that end without a sample nothing is kept, so their number costs nothing. */
static void the_starts_of_sampled_processes_are_kept(void **state)
{
	struct script s;
	struct replay *r;

	script_begin(&s);
	script_start(&s, 0, &python);
	script_exec(&s, 1, &python);
	script_look(&s, 1, &python);
	script_sample(&s, 5, &python, "ab");
	for (unsigned i = 0; i < 500; i++) {
		const struct actor other = { CHILD + i % 3, START_NS + (1 + i) * 100000000ULL,
					     "new", &new };

		script_start(&s, 100 + 10 * i, &other);
		script_exec(&s, 101 + 10 * i, &other);
		script_look(&s, 101 + 10 * i, &other);
		if (i == 7)
			script_sample(&s, 104 + 10 * i, &other, "ab");
		script_exit(&s, 105 + 10 * i, &other, 0);
	}
	script_exit(&s, 6000, &python, 0);
	script_end(&s, 60000);
	r = replay_new(s.log, s.size, true);
	replay_run(r);
	assert_string_equal(scene_stacks(r), "new;Na;Nb 1\nold;a;b 1\n");
	assert_int_equal(replay_ended_cnt(r), 2);
	replay_free(r);
	script_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_leader_that_exits_first_leaves_its_process),
		cmocka_unit_test(interrupts_without_room_are_counted_once),
		cmocka_unit_test(the_next_process_of_a_pid_is_another_one),
		cmocka_unit_test(a_late_record_is_not_the_next_process),
		cmocka_unit_test(a_look_that_finds_another_process_is_no_look),
		cmocka_unit_test(the_starts_of_sampled_processes_are_kept),
	};

	return cmocka_run_group_tests_name("replay: ends", tests, scene_setup, scene_teardown);
}
