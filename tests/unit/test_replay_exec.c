/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_replay_exec.c - processes exec other programs, known to the kernel side or not, from any of
 * their threads, with late looks. No name of the old image is given to the new one.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "profile/profile.h"
#include "replay_scene.h"

#define OTHERS (PID + 1000)
#define MANY 160

/* A Python process exists when the session begins and has been looked at. */
static void begin_with_python(struct script *s)
{
	const pid_t pids[] = { PID };

	script_begin(s);
	script_scan(s, 0, 300, pids, 1);
	script_look(s, 5, &python);
}

static void exec_forgets_the_old_program(void **state)
{
	const struct actor after = { PID, START_NS, "new", &new };
	struct script s;

	script_begin(&s);
	script_look(&s, 0, &python);
	script_sample(&s, 10, &python, "ab");
	script_exec(&s, 20, &after);
	script_look(&s, 20, &after);
	script_sample(&s, 30, &after, "ab");
	scene_expect(&s, false, "new;Na;Nb 1\nold;a;b 1\n", 0);
}

/* The thread takes over the leader's number and start time (de_thread(), fs/exec.c). */
static void exec_by_another_thread_forgets_all_threads(void **state)
{
	const struct actor after = { PID, START_NS, "new", &new };

	/* The other threads' ends come before the exec or, from another CPU, after it. */
	for (int late = 0; late < 2; late++) {
		struct script s;

		script_begin(&s);
		script_look(&s, 0, &python);
		script_sample(&s, 10, &python, "ab");
		script_thread_sample(&s, 11, &python, THREAD, START_NS + 5, "ac");
		if (!late)
			script_thread_exit(&s, 19, &python, PID, START_NS);
		script_exec(&s, 20, &after);
		if (late)
			script_thread_exit(&s, 21, &python, PID, START_NS);
		script_look(&s, 20, &after);
		script_sample(&s, 30, &after, "ab");
		script_sample(&s, 31, &after, "ab");
		scene_expect(&s, false, "new;Na;Nb 2\nold;a;b 1\nold;a;c 1\n", 0);
	}
}

/*
 * Exec of the same file, as os.execv(sys.executable) does: old names are not valid for the new
 * image.
 */
static void exec_looked_at_late_has_no_old_names(void **state)
{
	const struct actor after = { PID, START_NS, "new", &new };
	static const double late_ms[] = { 0, 5, 15, 40, 300, 3000 };

	for (size_t i = 0; i < sizeof(late_ms) / sizeof(late_ms[0]); i++) {
		struct script s;
		struct replay *r;
		__u64 lost;

		script_begin(&s);
		script_look(&s, 0, &python);
		script_sample(&s, 10, &python, "ab");
		script_exec(&s, 20, &after);
		script_look(&s, 20 + late_ms[i], &after);
		script_sample(&s, 30, &after, "ab");
		script_sample(&s, 100, &after, "ab");
		script_sample(&s, 5000, &after, "ab");
		script_end(&s, 60000);
		r = replay_new(s.log, s.size, false);
		replay_follow(r, PID);
		replay_run(r);
		lost = replay_reason(r, REASON_NO_PROCESS);
		assert_int_equal(scene_accounted(r), s.sample_cnt);
		assert_int_equal(replay_reason(r, REASON_PYTHON), s.sample_cnt - lost);
		/* krait does not wait long; what came in that time counts as lost. */
		assert_true(late_ms[i] <= 15 ? !lost : late_ms[i] >= 300 ? lost == 2 : lost <= 1);
		assert_null(strstr(scene_stacks(r), "new;a"));
		assert_null(strstr(scene_stacks(r), "unknown"));
		replay_free(r);
		script_free(&s);
	}
}

/* ---- images that the kernel knows ---------------------------------------------------------------- */

/* Its names come from the kernel side alone: the process has ended before any look. */
static void a_known_program_needs_no_look(void **state)
{
	const struct actor after = { PID, START_NS, "new", &new };

	for (int opened = 0; opened < 2; opened++) {
		struct script s;

		script_begin(&s);
		script_look(&s, 0, &python);
		script_sample(&s, 10, &python, "ab");
		script_known_exec(&s, 20, &after, 0);
		script_code(&s, 21, &after, 'a');
		if (opened)
			script_open(&s, 20, &after);
		else
			script_code(&s, 21, &after, 'b');
		script_sample(&s, 21, &after, "ab");
		script_exit(&s, 22, &after, 0);
		scene_expect(&s, false, "new;Na;Nb 1\nold;a;b 1\n", 0);
	}
}

/*
 * A session that saves work opens such a program only when it is sampled, and does not look at
 * others at once.
 */
static void where_starts_cost_too_much_programs_are_opened_when_they_are_sampled(void **state)
{
	const struct actor after = { PID, START_NS, "new", &new };
	const struct actor shell = { CHILD, START_NS + 700000000, "sh", NULL };

	for (int sampled = 0; sampled < 2; sampled++) {
		struct script s;
		struct replay *r;

		begin_with_python(&s);
		script_sample(&s, 310, &python, "ab");
		script_known_exec(&s, 320, &after, 0);
		/* Nobody asks what it is: it has no look to answer. */
		script_exec(&s, 321, &shell);
		script_code(&s, 330, &after, 'a');
		if (sampled)
			script_sample(&s, 330, &after, "a");
		script_exit(&s, 340, &after, 0);
		script_exit(&s, 350, &shell, 0);
		script_end(&s, 60000);
		r = replay_new(s.log, s.size, true);
		replay_spare(r);
		replay_run(r);
		assert_string_equal(scene_stacks(r),
				    sampled ? "new;Na 1\nold;a;b 1\n" : "old;a;b 1\n");
		assert_int_equal(replay_reason(r, REASON_NO_PROCESS), 0);
		replay_free(r);
		script_free(&s);
	}
}

/* Likewise while krait may not look at anything: processes that end meanwhile are counted. */
static void what_ends_while_nobody_may_look_is_counted(void **state)
{
	const struct actor after = { PID, START_NS, "new", &new };
	const struct actor shell = { CHILD, START_NS + 700000000, "sh", NULL };
	const struct actor slow = { THREAD, START_NS + 700000000, "slow", &new };
	struct script s;
	struct replay *r;

	begin_with_python(&s);
	script_sample(&s, 310, &python, "ab");
	script_known_exec(&s, 320, &after, 0);
	/* Nobody asks at once what they are. */
	script_exec(&s, 321, &shell);
	script_exec(&s, 322, &slow);
	script_code(&s, 330, &after, 'a');
	script_sample(&s, 330, &after, "a");
	script_exit(&s, 350, &shell, 0);
	script_exit(&s, 700, &slow, 0);
	script_end(&s, 60000);
	r = replay_new(s.log, s.size, true);
	replay_starve(r);
	replay_run(r);
	assert_string_equal(scene_stacks(r), "new;Na 1\nold;a;b 1\n");
	assert_int_equal(replay_unseen(r), 2);
	replay_free(r);
	script_free(&s);
}

/*
 * A shell forks for each line, and most forks end without another program: nobody needs to look at
 * them, as the shell is known.
 */
static void a_fork_of_what_is_known_is_not_unseen(void **state)
{
	const struct actor shell = { CHILD, START_NS + 700000000, "sh", NULL };
	const struct actor fork = { THREAD, START_NS + 800000000, "sh", NULL };

	for (int looked = 0; looked < 2; looked++) {
		struct script s;
		struct replay *r;

		begin_with_python(&s);
		script_exec(&s, 320, &shell);
		if (looked)
			script_look(&s, 330, &shell);
		script_fork(&s, 340, &fork, CHILD);
		script_exit(&s, 350, &fork, 0);
		script_exit(&s, 360, &shell, 0);
		script_end(&s, 60000);
		r = replay_new(s.log, s.size, true);
		if (!looked)
			replay_starve(r);
		replay_run(r);
		assert_int_equal(replay_unseen(r), looked ? 0 : 2);
		replay_free(r);
		script_free(&s);
	}
}

/* Belongs to another user and comes after all of those. */
static const struct actor own = { OTHERS + MANY, START_NS + 700000000, "own", NULL, .uid = 8 };

/* Starts MANY processes of one user, then own; end_ms: when the many end; 0: never. */
static void start_many(struct script *s, double end_ms)
{
	for (pid_t pid = OTHERS; pid < OTHERS + MANY; pid++) {
		const struct actor a = { pid, START_NS + 700000000, "many", NULL, .uid = 7 };

		script_exec(s, 320, &a);
		script_look(s, 330, &a);
		if (end_ms > 0)
			script_exit(s, end_ms, &a, 0);
	}
	script_exec(s, 321, &own);
	script_look(s, 330, &own);
}

/*
 * When krait saves looks, one owner's processes do not wait for another's, however many that one
 * starts first.
 */
static void one_owners_starts_cost_others_no_look(void **state)
{
	struct script s;
	struct replay *r;

	begin_with_python(&s);
	start_many(&s, 0);
	/* They are due half a second later; looks at all the others would take ten seconds. */
	script_exit(&s, 1500, &own, 0);
	script_end(&s, 2000);
	r = replay_new(s.log, s.size, true);
	replay_spare(r);
	replay_run(r);
	assert_int_equal(replay_unseen(r), 0);
	replay_free(r);
	script_free(&s);
}

/*
 * While looks wait, each owner gets one per second in turn: an owner that starts many keeps waiting
 * and locks nobody out.
 */
static void one_owners_excess_keeps_others_out_for_seconds_at_most(void **state)
{

	for (int many_end = 0; many_end < 2; many_end++) {
		struct script s;
		struct replay *r;

		begin_with_python(&s);
		start_many(&s, many_end ? 5000 : 0);
		if (!many_end)
			script_exit(&s, 5000, &own, 0);
		script_end(&s, 6000);
		r = replay_new(s.log, s.size, true);
		replay_starve(r);
		replay_run(r);
		if (many_end)
			assert_in_range(replay_unseen(r), MANY - 6, MANY - 1);
		else
			assert_int_equal(replay_unseen(r), 0);
		replay_free(r);
		script_free(&s);
	}
}

/* A layout not seen before: the exec needs a look. */
static void a_layout_that_is_not_known_is_looked_at(void **state)
{
	const struct actor after = { PID, START_NS, "new", &new };
	struct script s;

	script_begin(&s);
	script_look(&s, 0, &python);
	script_sample(&s, 10, &python, "ab");
	script_known_exec(&s, 20, &after, 7);
	script_look(&s, 21, &after);
	script_sample(&s, 30, &after, "ab");
	scene_expect(&s, false, "new;Na;Nb 1\nold;a;b 1\n", 0);
}

/*
 * The started process is not Python until its library begins an interpreter; a look comes too
 * early.
 */
static void an_interpreter_begins_in_a_library(void **state)
{
	const struct actor child = { CHILD, START_NS + 500000000, "old", &old };
	const struct actor shell = { CHILD, START_NS + 500000000, "host", NULL };
	const struct actor host = { CHILD, START_NS + 500000000, "host", &new };

	/* Reporting it twice, or with an unknown layout, makes no difference. */
	for (int told = 0; told < 3; told++) {
		struct script s;

		script_begin(&s);
		script_look(&s, 0, &python);
		script_sample(&s, 10, &python, "ab");
		script_fork(&s, 20, &child, PID);
		script_exec(&s, 21, &shell);
		script_look(&s, 22, &shell);
		script_runtime(&s, 30, &host, 0);
		if (told)
			script_runtime(&s, 31, &host, told == 1 ? 0 : 9);
		script_code(&s, 32, &host, 'a');
		script_sample(&s, 32, &host, "a");
		script_sample(&s, 33, &host, "a");
		scene_expect(&s, false, "host;Na 2\nold;a;b 1\n", 0);
	}
}

/* The filter is for a name, which an exec changes. The layout is known from another process. */
static void an_exec_may_make_it_wanted_or_not(void **state)
{
	static const char *const names[] = { "old", "new" };
	const struct actor after = { PID, START_NS, "new", &new };

	for (int known = 0; known < 2; known++) {
		for (int name = 0; name < 2; name++) {
			const struct actor other = { CHILD, START_NS, names[name], &old };
			struct script s;
			struct replay *r;

			script_begin(&s);
			script_exec(&s, 0, &other);
			script_look(&s, 1, &other);
			script_exec(&s, 5, &python);
			script_look(&s, 5, &python);
			script_sample(&s, 10, &python, "ab");
			if (known) {
				script_known_exec(&s, 20, &after, 0);
				script_open(&s, 20, &after);
			} else {
				script_exec(&s, 20, &after);
				script_look(&s, 20, &after);
			}
			script_sample(&s, 30, &after, "ab");
			replay_want_name(names[name]);
			r = scene_replay(&s, true);
			assert_string_equal(scene_stacks(r),
					    name ? "new;Na;Nb 1\n" : "old;a;b 1\n");
			assert_int_equal(profile__counts(replay_profile(r), 0)->accounts.unwanted,
					 1);
			replay_want_name(NULL);
			replay_free(r);
			script_free(&s);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exec_forgets_the_old_program),
		cmocka_unit_test(exec_by_another_thread_forgets_all_threads),
		cmocka_unit_test(exec_looked_at_late_has_no_old_names),
		cmocka_unit_test(a_known_program_needs_no_look),
		cmocka_unit_test(
			where_starts_cost_too_much_programs_are_opened_when_they_are_sampled),
		cmocka_unit_test(what_ends_while_nobody_may_look_is_counted),
		cmocka_unit_test(one_owners_excess_keeps_others_out_for_seconds_at_most),
		cmocka_unit_test(a_fork_of_what_is_known_is_not_unseen),
		cmocka_unit_test(one_owners_starts_cost_others_no_look),
		cmocka_unit_test(a_layout_that_is_not_known_is_looked_at),
		cmocka_unit_test(an_interpreter_begins_in_a_library),
		cmocka_unit_test(an_exec_may_make_it_wanted_or_not),
	};

	return cmocka_run_group_tests_name("replay: execs", tests, scene_setup, scene_teardown);
}
