/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_replay_looks.c - results of looks at processes: refusals are reported once with their
 * reason; processes that may become Python are looked at again, more and more rarely; a look that
 * never returns blocks nobody.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include "profile/profile.h"
#include "replay_scene.h"
#include "process/probe/probed.h"

/* ---- refusals ---------------------------------------------------------------------------------- */

static void a_refusal_is_said_with_its_reason(void **state)
{
	static const struct {
		int result;
		const char *why, *said;
	} cases[] = {
		{ -ENOTSUP, "CPython 3.99 is not known",
		  "krait: not sampled: CPython 3.99 is not known (pid 5000001)\n" },
		{ -ENODATA, "its table is \033[31mred",
		  "krait: not sampled: its table is \\x1b[31mred (pid 5000001)\n" },
		{ -EACCES, "cannot be read",
		  "krait: 1 process could not be inspected (cannot be read) and may be Python: 5000001 old\n" },
		/* These are not refusals. */
		{ -ENOEXEC, "not Python", "" },
		{ -ESRCH, "gone", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct script s;
		struct replay *r;
		const char *said;

		script_begin(&s);
		script_start(&s, 0, &python);
		for (int look = 0; look < 8; look++)
			script_look_refused(&s, 0, &python, cases[i].result, cases[i].why);
		script_sample(&s, 10, &python, "ab");
		script_exit(&s, 20, &python, 0);
		r = scene_replay(&s, false);
		assert_int_equal(replay_reason(r, REASON_NO_PROCESS), 1);
		said = scene_refused(r);
		if (*cases[i].said ? !strstr(said, cases[i].said) : *said)
			fail_msg("said: %s", said);
		replay_free(r);
		script_free(&s);
	}
}

/* Children of a refused process have its image and are refused for the same reason when looked at. */
static void refusals_with_one_reason_are_one_line(void **state)
{
	struct script s;
	struct replay *r;

	script_begin(&s);
	for (pid_t pid = PID; pid < PID + 3; pid++) {
		const struct actor a = { pid, START_NS, "old", &old };

		script_start(&s, 0, &a);
		script_look_refused(&s, 1, &a, -ENOTSUP, "too new");
		script_exec(&s, 0, &a);
	}
	r = scene_replay(&s, true);
	assert_string_equal(scene_refused(r),
			    "krait: not sampled: too new (pid 5000001 and 2 more)\n");
	replay_free(r);
	script_free(&s);
}

/* The kernel side has no room for more; here the fork of a tracked process needs none. */
static void more_than_the_kernel_takes_are_refused(void **state)
{
	struct script s;
	struct replay *r;

	script_begin(&s);
	for (pid_t pid = PID; pid < PID + 4; pid++) {
		const struct actor a = { pid, START_NS, "old", &old };

		script_start(&s, 0, &a);
		script_exec(&s, 0, &a);
		script_look(&s, 1, &a);
		script_sample(&s, 10, &a, "ab");
	}
	replay_track_max(2);
	r = scene_replay(&s, true);
	assert_string_equal(scene_stacks(r), "old;a;b 2\n");
	assert_int_equal(replay_reason(r, REASON_NO_PROCESS), 2);
	assert_non_null(strstr(scene_refused(r), "too many processes"));
	assert_int_equal(scene_accounted(r), s.sample_cnt);
	replay_free(r);
	script_free(&s);
}

/* ---- looked at again ------------------------------------------------------------------------------ */

/* It becomes Python without an exec, like a program that embeds an interpreter. */
static void what_is_not_python_yet_is_looked_at_again(void **state)
{
	const struct actor shell = { PID, START_NS, "host", NULL };
	struct script s;
	struct replay *r;

	script_begin(&s);
	script_start(&s, 0, &shell);
	for (int i = 0; i < 5; i++)
		script_look(&s, i, &shell);
	script_look(&s, 40, &python);
	script_sample(&s, 100, &python, "ab");
	r = scene_replay(&s, false);
	assert_string_equal(scene_stacks(r), "old;a;b 1\n");
	assert_string_equal(scene_refused(r), "");
	replay_free(r);
	script_free(&s);
}

/* Debug information is being read: it is looked at every tenth of a second, and so is its child. */
static void what_is_still_being_read_is_asked_again(void **state)
{
	const struct actor child = { CHILD, START_NS + 500000000, "old", &old };
	struct script s;
	struct replay *r;

	script_begin(&s);
	script_start(&s, 0, &python);
	script_look_refused(&s, 0, &python, -EINPROGRESS, "reading");
	script_fork(&s, 20, &child, PID);
	script_look_refused(&s, 110, &python, -EINPROGRESS, "reading");
	script_look(&s, 220, &python);
	script_look(&s, 230, &child);
	script_sample(&s, 400, &python, "ab");
	script_sample(&s, 401, &child, "a");
	r = scene_replay(&s, false);
	assert_string_equal(scene_stacks(r), "old;a 1\nold;a;b 1\n");
	replay_free(r);
	script_free(&s);
}

/* ---- looks that do not come back -------------------------------------------------------------------- */

static void a_look_without_an_answer_is_a_refusal(void **state)
{
	static const struct {
		int result;
		const char *said;
	} cases[] = {
		{ -ETIMEDOUT, PROBED_HUNG },
		{ -EUSERS, PROBED_OWNER_REFUSED },
		{ -EIO, "krait cannot look at it: " },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct script s;
		struct replay *r;

		script_begin(&s);
		script_start(&s, 0, &python);
		script_silent(&s, 2500, &python, PROBE_IDENTIFY, cases[i].result);
		script_sample(&s, 10, &python, "ab");
		script_sample(&s, 3000, &python, "ab");
		r = scene_replay(&s, false);
		assert_int_equal(replay_reason(r, REASON_NO_PROCESS), 2);
		assert_non_null(strstr(scene_refused(r), cases[i].said));
		replay_free(r);
		script_free(&s);
	}
}

/* No prober was available: that is not the process's fault. */
static void without_a_prober_it_is_looked_at_later(void **state)
{
	struct script s;
	struct replay *r;

	script_begin(&s);
	script_start(&s, 0, &python);
	script_silent(&s, 1, &python, PROBE_IDENTIFY, -EAGAIN);
	script_look(&s, 150, &python);
	script_sample(&s, 300, &python, "ab");
	r = scene_replay(&s, false);
	assert_string_equal(scene_stacks(r), "old;a;b 1\n");
	assert_string_equal(scene_refused(r), "");
	replay_free(r);
	script_free(&s);
}

/*
 * Its look never returns, and nobody reports that: the others are sampled, and it is named at the
 * end.
 */
static void one_that_hangs_keeps_nobody_waiting(void **state)
{
	const struct actor hung = { CHILD, START_NS, "hung", &new };
	struct script s;
	struct replay *r;

	script_begin(&s);
	script_start(&s, 0, &hung);
	script_exec(&s, 0, &hung);
	script_start(&s, 1, &python);
	script_exec(&s, 1, &python);
	script_look(&s, 2, &python);
	for (int i = 0; i < 5; i++)
		script_sample(&s, 30 + i, &python, "ab");
	script_sample(&s, 60, &hung, "ab");
	r = scene_replay(&s, true);
	assert_string_equal(scene_stacks(r), "old;a;b 5\n");
	assert_int_equal(replay_reason(r, REASON_NO_PROCESS), 1);
	assert_non_null(strstr(scene_refused(r), PROBED_HUNG_SO_FAR));
	replay_free(r);
	script_free(&s);
}

/* Its memory stops answering after the look: it is sampled without names, which is reported. */
static void memory_that_hangs_leaves_samples_without_names(void **state)
{
	const struct actor child = { CHILD, START_NS + 500000000, "old", &new };
	struct script s;
	struct replay *r;

	script_begin(&s);
	script_look(&s, 0, &python);
	script_sample(&s, 10, &python, "ab");
	script_fork(&s, 20, &child, PID);
	script_silent(&s, 2100, &child, PROBE_OPEN, -ETIMEDOUT);
	script_code(&s, 21, &child, 'a');
	script_sample(&s, 2200, &child, "ac");
	script_sample(&s, 2201, &python, "ab");
	r = scene_replay(&s, false);
	assert_string_equal(scene_stacks(r), "old;Na;<unknown function> 1\nold;a;b 2\n");
	assert_int_equal(scene_accounted(r), s.sample_cnt);
	assert_non_null(strstr(scene_refused(r), PROBED_HUNG));
	replay_free(r);
	script_free(&s);
}

/* ---- all processes ---------------------------------------------------------------------------------- */

/*
 * A process that is not Python at the scan is ignored; a Python process that already existed is
 * sampled.
 */
static void a_scan_looks_at_all_that_are_there(void **state)
{
	const struct actor shell = { PID + 1, START_NS, "sh", NULL };
	const struct actor other = { PID + 2, START_NS, "new", &new };
	const struct actor hung = { PID + 3, START_NS, "hung", &new };
	const pid_t pids[] = { PID, PID + 1, PID + 2, PID + 3 };

	for (int wait = 0; wait < 2; wait++) {
		struct script s;
		struct replay *r;

		script_begin(&s);
		script_scan(&s, 0, wait ? 300 : 0, pids, 4);
		script_look(&s, 5, &python);
		script_look(&s, 6, &shell);
		script_look(&s, 7, &other);
		script_start(&s, 0, &hung);
		/* Processes known by then stay as they are. */
		script_scan(&s, 400, 0, pids, 4);
		script_sample(&s, 500, &python, "ab");
		script_sample(&s, 501, &other, "a");
		r = scene_replay(&s, true);
		assert_string_equal(scene_stacks(r), "new;Na 1\nold;a;b 1\n");
		assert_int_equal(replay_reason(r, REASON_NO_PROCESS), 0);
		replay_free(r);
		script_free(&s);
	}
}

/* Python, but unwanted: its interrupts, and its children's, stay out of the profile. */
static void what_is_not_wanted_is_counted_apart(void **state)
{
	const struct actor other = { PID + 2, START_NS, "new", &new };
	const struct actor child = { CHILD, START_NS + 500000000, "new", &new };
	const pid_t pids[] = { PID, PID + 2 };
	struct script s;
	struct replay *r;

	script_begin(&s);
	script_scan(&s, 0, 300, pids, 2);
	script_look(&s, 5, &python);
	script_look(&s, 6, &other);
	script_fork(&s, 400, &child, PID + 2);
	script_sample(&s, 500, &python, "ab");
	script_sample(&s, 501, &other, "a");
	script_sample(&s, 502, &child, "a");
	replay_want_name("ol?");
	r = scene_replay(&s, true);
	assert_string_equal(scene_stacks(r), "old;a;b 1\n");
	assert_int_equal(profile__counts(replay_profile(r), 0)->accounts.unwanted, 2);
	assert_int_equal(scene_accounted(r), s.sample_cnt);
	replay_want_name(NULL);
	replay_free(r);
	script_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refusal_is_said_with_its_reason),
		cmocka_unit_test(refusals_with_one_reason_are_one_line),
		cmocka_unit_test(more_than_the_kernel_takes_are_refused),
		cmocka_unit_test(what_is_not_python_yet_is_looked_at_again),
		cmocka_unit_test(what_is_still_being_read_is_asked_again),
		cmocka_unit_test(a_look_without_an_answer_is_a_refusal),
		cmocka_unit_test(without_a_prober_it_is_looked_at_later),
		cmocka_unit_test(one_that_hangs_keeps_nobody_waiting),
		cmocka_unit_test(memory_that_hangs_leaves_samples_without_names),
		cmocka_unit_test(a_scan_looks_at_all_that_are_there),
		cmocka_unit_test(what_is_not_wanted_is_counted_apart),
	};

	return cmocka_run_group_tests_name("replay: looks", tests, scene_setup, scene_teardown);
}
