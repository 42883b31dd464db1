/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_replay_targets.c - record -p PID: for a Python process, one that runs Python, one that is
 * only starting, and one that never becomes Python. A process that cannot be sampled is refused
 * with a reason, and krait waits for none for long.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "replay_outside.h"
#include "replay_scene.h"
#include "base/system/clock.h"
#include "base/system/error.h"

#define GRANDCHILD 5000004

/* Old enough not to count as just starting; or as old as the recording. */
static const struct actor wrapper = { .pid = PID, .start_ns = START_NS, .comm = "timeout" };
static const struct actor child = {
	.pid = CHILD, .start_ns = START_NS, .comm = "old", .program = &old
};

static struct error err;

/* Ends the script and follows PID; *ret_ms: how long that took. */
static int follow(struct script *s, struct replay **ret, const struct replay_member *family,
		  size_t cnt, __u64 *ret_ms)
{
	static const pid_t pids[] = { PID };
	__u64 begin_ns;
	int result;

	memset(&err, 0, sizeof(err));
	script_end(s, 60000);
	*ret = replay_new(s->log, s->size, false);
	replay_family(family, cnt);
	begin_ns = replay_now_ns();
	result = replay_targets(*ret, pids, 1, &err);
	*ret_ms = (replay_now_ns() - begin_ns) / NS_PER_MS;
	return result;
}

static void drop(struct script *s, struct replay *r)
{
	replay_free(r);
	script_free(s);
}

static void a_python_and_its_children_are_followed(void **state)
{
	static const struct replay_member family[] = {
		{ .pid = 2, .kernel_thread = true },
		{ .pid = PID, .parent = 1, .start_ns = START_NS },
		{ .pid = CHILD, .parent = PID, .start_ns = START_NS },
		{ .pid = THREAD, .parent = 1, .start_ns = START_NS }, /* another process's */
		{ .pid = GRANDCHILD, .parent = CHILD, .start_ns = START_NS },
	};
	const struct actor grandchild = { GRANDCHILD, START_NS, "new", &new };
	const struct actor other = { THREAD, START_NS, "new", &new };
	struct script s;
	struct replay *r;
	__u64 ms;

	script_begin(&s);
	script_look(&s, 0, &python);
	script_look(&s, 0, &child);
	script_look(&s, 0, &grandchild);
	script_look(&s, 0, &other);
	script_sample(&s, 100, &child, "a");
	script_sample(&s, 101, &grandchild, "a");
	assert_int_equal(follow(&s, &r, family, 5, &ms), 0);
	assert_int_equal(replay_tracked_cnt(r), 3);
	replay_run(r);
	assert_string_equal(scene_stacks(r), "new;Na 1\nold;a 1\n");
	drop(&s, r);
}

/* The kernel side has no room for one of two children, which would never be reported to end. */
static void a_child_without_room_is_not_waited_for(void **state)
{
	static const struct replay_member family[] = {
		{ .pid = PID, .parent = 1, .start_ns = START_NS },
		{ .pid = CHILD, .parent = PID, .start_ns = START_NS },
		{ .pid = GRANDCHILD, .parent = CHILD, .start_ns = START_NS },
	};
	const struct actor grandchild = { GRANDCHILD, START_NS, "new", &new };
	struct script s;
	struct replay *r;
	__u64 ms;

	script_begin(&s);
	script_look(&s, 0, &python);
	script_look(&s, 0, &child);
	script_start(&s, 0, &grandchild);
	script_look(&s, 0, &grandchild);
	replay_track_max(2);
	assert_int_equal(follow(&s, &r, family, 3, &ms), 0);
	assert_int_equal(replay_tracked_cnt(r), 2);
	assert_int_equal(replay_followed_cnt(r), 2);
	drop(&s, r);
}

/* timeout, sudo, a shell, a bootloader: Python is its child, now or soon. */
static void the_child_of_a_wrapper_is_what_is_wanted(void **state)
{
	for (int late = 0; late < 2; late++) {
		const struct replay_member family[] = {
			{ .pid = PID, .parent = 1, .start_ns = START_NS },
			{ .pid = CHILD,
			  .parent = PID,
			  .start_ns = START_NS,
			  .from_ns = script_ns(late ? 120 : 0) },
		};
		struct script s;
		struct replay *r;
		__u64 ms;

		script_begin(&s);
		for (int i = 0; i < 20; i++)
			script_look(&s, 0, &wrapper);
		script_look(&s, late ? 130 : 0, &child);
		script_sample(&s, 1000, &child, "ab");
		assert_int_equal(follow(&s, &r, family, 2, &ms), 0);
		assert_int_equal(replay_tracked_cnt(r), 1);
		assert_true(late ? ms >= 120 && ms < 300 : ms < 60);
		replay_run(r);
		assert_string_equal(scene_stacks(r), "old;a;b 1\n");
		drop(&s, r);
	}
}

/*
 * A newly started interpreter is not ready yet: it gets two seconds, an older process a third of
 * one.
 */
static void what_has_just_been_started_is_waited_for(void **state)
{
	static const double becomes_ms[] = { 40, 900, 1500, 3000 };

	for (size_t i = 0; i < sizeof(becomes_ms) / sizeof(becomes_ms[0]); i++) {
		for (int young = 0; young < 2; young++) {
			const __u64 start_ns = young ? script_ns(-100) / 10000000 * 10000000 :
						       START_NS;
			const struct replay_member family[] = {
				{ .pid = PID, .parent = 1, .start_ns = start_ns },
			};
			const struct actor before = { PID, start_ns, "python3", NULL };
			const struct actor after = { PID, start_ns, "old", &old };
			bool in_time = becomes_ms[i] < (young ? 2000 : 300);
			struct script s;
			struct replay *r;
			__u64 ms;

			script_begin(&s);
			for (int ask = 0; ask < becomes_ms[i] / 50 + 1; ask++)
				script_look(&s, 50 * ask, &before);
			script_look(&s, becomes_ms[i], &after);
			assert_int_equal(follow(&s, &r, family, 1, &ms) == 0, in_time);
			assert_true(ms < 2200);
			assert_int_equal(replay_tracked_cnt(r), in_time);
			if (!in_time)
				assert_int_equal(err.code, EXIT_CODE_TARGET);
			drop(&s, r);
		}
	}
}

static void refusals_say_why(void **state)
{
	static const struct {
		int result, exit_code;
		const char *why, *said;
	} cases[] = {
		{ -ENOTSUP, EXIT_CODE_TARGET, "CPython 3.99 is not known",
		  "process 5000001 cannot be sampled: CPython 3.99 is not known" },
		{ -EACCES, EXIT_CODE_PERMISSION, "mem: permission denied", "cannot be read" },
		{ -ESRCH, EXIT_CODE_TARGET, "", "no process 5000001" },
		{ -ENOEXEC, EXIT_CODE_TARGET, "it is not Python", "cannot be sampled" },
	};
	static const struct replay_member family[] = {
		{ .pid = PID, .parent = 1, .start_ns = START_NS },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct script s;
		struct replay *r;
		__u64 ms;

		script_begin(&s);
		for (int ask = 0; ask < 40; ask++)
			script_look_refused(&s, 0, &python, cases[i].result, cases[i].why);
		assert_true(follow(&s, &r, family, 1, &ms) < 0);
		assert_int_equal(err.code, cases[i].exit_code);
		assert_non_null(strstr(err.text, cases[i].said));
		assert_true(ms < 1000);
		drop(&s, r);
	}
}

/* For a wrapper, its child's reason counts; without any Python below it, krait says so. */
static void refusals_of_a_family_say_whose(void **state)
{
	static const struct replay_member family[] = {
		{ .pid = PID, .parent = 1, .start_ns = START_NS },
		{ .pid = CHILD, .parent = PID, .start_ns = START_NS },
	};

	for (int python_below = 0; python_below < 2; python_below++) {
		struct script s;
		struct replay *r;
		__u64 ms;

		script_begin(&s);
		for (int ask = 0; ask < 40; ask++) {
			script_look(&s, 0, &wrapper);
			script_look_refused(&s, 0, &child, python_below ? -ENOTSUP : -ENOEXEC,
					    "too new");
		}
		assert_true(follow(&s, &r, family, 2, &ms) < 0);
		assert_non_null(strstr(
			err.text, python_below ? "too new" : "neither it nor any of its children"));
		drop(&s, r);
	}
}

/* Debug information is read first, however long that takes: before that there is nothing to sample. */
static void debug_information_is_waited_for(void **state)
{
	static const struct replay_member family[] = {
		{ .pid = PID, .parent = 1, .start_ns = START_NS },
		{ .pid = CHILD, .parent = PID, .start_ns = START_NS },
	};

	for (int of_child = 0; of_child < 2; of_child++) {
		struct script s;
		struct replay *r;
		__u64 ms;

		script_begin(&s);
		for (int ask = 0; ask < 200; ask++)
			script_look_refused(&s, 0, of_child ? &child : &python, -EINPROGRESS,
					    "reading");
		for (int ask = 0; ask < 10; ask++)
			script_look(&s, 0, of_child ? &wrapper : &child);
		script_look(&s, 0, of_child ? &child : &python);
		assert_int_equal(follow(&s, &r, family, 2, &ms), 0);
		assert_true(ms >= 199 * 20);
		drop(&s, r);
	}
}

/*
 * One of the processes that krait dump has just inspected may have ended: the others are followed
 * anyway.
 */
static void who_has_ended_since_a_look_keeps_nobody_from_the_others(void **state)
{
	static const pid_t pids[] = { PID, CHILD };

	for (int left = 0; left < 2; left++) {
		struct script s;
		struct replay *r;

		memset(&err, 0, sizeof(err));
		script_begin(&s);
		script_look_refused(&s, 0, &python, -ESRCH, "");
		if (left)
			script_look(&s, 0, &child);
		else
			script_look_refused(&s, 0, &child, -ESRCH, "");
		script_end(&s, 60000);
		r = replay_new(s.log, s.size, false);
		assert_int_equal(replay_known_targets(r, pids, 2, &err), left ? 0 : -1);
		assert_int_equal(replay_tracked_cnt(r), left);
		if (!left)
			assert_non_null(strstr(err.text, "no process"));
		drop(&s, r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_python_and_its_children_are_followed),
		cmocka_unit_test(a_child_without_room_is_not_waited_for),
		cmocka_unit_test(the_child_of_a_wrapper_is_what_is_wanted),
		cmocka_unit_test(what_has_just_been_started_is_waited_for),
		cmocka_unit_test(refusals_say_why),
		cmocka_unit_test(refusals_of_a_family_say_whose),
		cmocka_unit_test(debug_information_is_waited_for),
		cmocka_unit_test(who_has_ended_since_a_look_keeps_nobody_from_the_others),
	};

	return cmocka_run_group_tests_name("replay: targets", tests, scene_setup, scene_teardown);
}
