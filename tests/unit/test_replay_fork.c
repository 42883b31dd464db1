/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_replay_fork.c - processes fork, and krait hears of it late or never: no sample is lost
 * silently, and none is attributed to the wrong program.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <cmocka.h>

#include "profile/profile.h"
#include "replay_scene.h"
#include "record/samples/label.h"

static void a_process_is_looked_at_and_sampled(void **state)
{
	struct script s;

	script_begin(&s);
	script_look(&s, 0, &python);
	script_sample(&s, 10, &python, "ab");
	script_sample(&s, 11, &python, "ab");
	script_sample(&s, 12, &python, "ac");
	scene_expect(&s, false, "old;a;b 2\nold;a;c 1\n", 0);
}

/* Nothing is read from the child, which may be long gone. The kernel side has shown what it ran. */
static void a_forked_child_is_named_by_what_the_kernel_has_shown(void **state)
{
	const struct actor child = { CHILD, START_NS + 500000000, "old", &old };
	struct script s;

	script_begin(&s);
	script_look(&s, 0, &python);
	script_sample(&s, 10, &python, "ab");
	script_fork(&s, 20, &child, PID);
	script_code(&s, 21, &child, 'a');
	script_code(&s, 21, &child, 'b');
	script_sample(&s, 21, &child, "ab");
	script_sample(&s, 22, &python, "ab");
	script_exit(&s, 23, &child, 0);
	scene_expect(&s, false, "old;a;b 3\n", 0);
}

/*
 * Code that the kernel side has not shown is read from the child; if that cannot be read, or has
 * gone, from the parent, unless that has something else there.
 */
static void a_childs_other_code_is_read_from_it_or_its_parent(void **state)
{
	const struct actor child = { CHILD, START_NS + 500000000, "old", &old };
	const struct actor changed = { CHILD, START_NS + 500000000, "old", &new };

	for (int opened = 0; opened < 2; opened++) {
		struct script s;

		script_begin(&s);
		script_look(&s, 0, &python);
		script_sample(&s, 10, &python, "ab");
		script_fork(&s, 20, &child, PID);
		if (opened)
			script_open(&s, 20, &child);
		script_code(&s, 21, &child, 'a');
		script_sample(&s, 21, &child, "ac");
		scene_expect(&s, false, "old;a;b 1\nold;a;c 1\n", 0);

		script_begin(&s);
		script_look(&s, 0, &python);
		script_sample(&s, 10, &python, "ab");
		script_fork(&s, 20, &changed, PID);
		script_code(&s, 21, &child, 'a');
		script_sample(&s, 21, &changed, "c");
		scene_expect(&s, false, "old;<unknown function> 1\nold;a;b 1\n", 0);
	}
}

/*
 * One sample interrupted another that was about to send the code both of them show: only the first
 * one stays unnamed. (The parent does not have it: the child has made it.)
 */
static void a_name_that_comes_later_is_for_the_next_sample(void **state)
{
	const struct actor child = { CHILD, START_NS + 500000000, "old", &new };
	struct script s;

	script_begin(&s);
	script_look(&s, 0, &python);
	script_sample(&s, 10, &python, "ab");
	script_fork(&s, 20, &child, PID);
	script_code(&s, 21, &child, 'a');
	script_sample(&s, 21, &child, "ac");
	script_code(&s, 22, &child, 'c');
	script_sample(&s, 22, &child, "ac");
	script_sample(&s, 23, &child, "ac");
	scene_expect(&s, false, "old;Na;<unknown function> 1\nold;Na;Nc 2\nold;a;b 1\n", 0);
}

/* The parent of a vfork sleeps until the child execs another program, which may be Python or not. */
static void a_vforked_child_becomes_another_program(void **state)
{
	const struct actor child = { CHILD, START_NS + 500000000, "old", &old };
	const struct actor shell = { CHILD, START_NS + 500000000, "sh", NULL };
	const struct actor other = { CHILD, START_NS + 500000000, "new", &new };

	for (int is_python = 0; is_python < 2; is_python++) {
		struct script s;

		script_begin(&s);
		script_look(&s, 0, &python);
		script_sample(&s, 10, &python, "ab");
		script_fork(&s, 20, &child, PID);
		script_code(&s, 21, &child, 'a');
		script_sample(&s, 21, &child, "a");
		script_exec(&s, 22, is_python ? &other : &shell);
		script_look(&s, 23, is_python ? &other : &shell);
		if (is_python)
			script_sample(&s, 40, &other, "a");
		script_exit(&s, 50, &child, 0);
		script_sample(&s, 60, &python, "ab");
		scene_expect(&s, false,
			     is_python ? "new;Na 1\nold;a 1\nold;a;b 2\n" : "old;a 1\nold;a;b 2\n",
			     0);
	}
}

/*
 * By the time that a fork is asked it may have executed something else: until then it is its
 * parent's program, and afterwards its own if that is Python.
 */
static void a_forked_child_is_its_parents_program_until_it_executes_another(void **state)
{
	const struct input_session session = { .event_cnt = 1,
					       .mappings_reported = true,
					       .label = LABEL_SCRIPT };
	const struct actor app = { PID, START_NS, "old", &old, .script = "/srv/app.py" };
	const struct actor tool = { CHILD, START_NS + 500000000, "old", &old,
				    .script = "/usr/bin/mytool" };
	const struct actor other = { CHILD, START_NS + 500000000, "new", &new,
				     .script = "/srv/child.py" };

	/* It has been opened as what it is by then; not at all; and before its parent was. */
	for (int opened = 0; opened < 3; opened++) {
		struct script s;

		script_begin(&s);
		script_session(&s, &session);
		script_look(&s, 0, &app);
		if (opened != 2)
			script_sample(&s, 10, &app, "ab");
		script_fork(&s, 20, &tool, PID);
		if (opened == 1)
			script_silent(&s, 20, &tool, PROBE_OPEN, -ESTALE);
		else
			script_open(&s, 20, &tool);
		script_code(&s, 21, &tool, 'a');
		script_code(&s, 21, &tool, 'b');
		script_sample(&s, 21, &tool, "ab");
		script_exec(&s, 22, &other);
		script_look(&s, 23, &other);
		script_sample(&s, 40, &other, "a");
		scene_expect(&s, false,
			     opened == 2 ? "new_[child.py];Na 1\nold_[app.py];a;b 1\n" :
					   "new_[child.py];Na 1\nold_[app.py];a;b 2\n",
			     0);
	}
}

/* The fork's event was dropped: the child's first sample triggers a look. */
static void a_child_whose_fork_was_dropped_is_found(void **state)
{
	const struct actor child = { CHILD, START_NS + 500000000, "kid", &new };
	struct script s;

	script_begin(&s);
	script_look(&s, 0, &python);
	script_sample(&s, 10, &python, "ab");
	script_start(&s, 20, &child);
	script_look(&s, 20, &child);
	script_sample(&s, 21, &child, "ab");
	script_sample(&s, 22, &child, "ab");
	scene_expect(&s, false, "kid;Na;Nb 2\nold;a;b 1\n", 0);
}

/*
 * The first process's exit and the next one's start were dropped: the child is no copy of the
 * first.
 */
static void a_child_of_the_next_process_of_a_pid_is_not_the_firsts(void **state)
{
	const struct actor next = { PID, START_NS + 700000000, "new", &new };
	const struct actor child = { CHILD, START_NS + 900000000, "new", &new };
	struct script s;

	script_begin(&s);
	script_look(&s, 0, &python);
	script_sample(&s, 10, &python, "ab");
	script_fork_of(&s, 30, &child, &next);
	script_start(&s, 30, &child);
	script_look(&s, 30, &child);
	script_sample(&s, 31, &child, "ab");
	scene_expect(&s, false, "new;Na;Nb 1\nold;a;b 1\n", 0);
}

/*
 * Its first sample opens a copy of the parent's earlier state: the parent may have ended or exec'ed
 * by then.
 */
static void a_fork_is_opened_when_it_is_needed(void **state)
{
	const struct actor child = { CHILD, START_NS + 500000000, "old", &old };
	const struct actor grandchild = { CHILD + 1, START_NS + 600000000, "old", &old };
	const struct actor other = { PID, START_NS, "new", &new };
	const pid_t pids[] = { PID };

	for (int parent = 0; parent < 3; parent++) {
		struct script s;

		script_begin(&s);
		script_scan(&s, 0, 300, pids, 1);
		script_look(&s, 5, &python);
		script_sample(&s, 310, &python, "ab");
		script_fork(&s, 320, &child, PID);
		script_fork(&s, 325, &grandchild, CHILD);
		if (parent == 1)
			script_exit(&s, 330, &python, 0);
		if (parent == 2)
			script_exec(&s, 330, &other);
		if (parent == 2)
			script_look(&s, 331, &other);
		for (const char *name = "ab"; *name; name++) {
			script_code(&s, 340, &child, *name);
			script_code(&s, 340, &grandchild, *name);
		}
		script_sample(&s, 340, &child, "ab");
		script_sample(&s, 341, &grandchild, "ab");
		script_exit(&s, 342, &child, 0);
		scene_expect(&s, true, "old;a;b 3\n", 0);
	}
}

/* Most do so within a moment: for those, nothing is ever opened. */
static void a_fork_that_ends_or_executes_is_never_opened(void **state)
{
	const struct actor child = { CHILD, START_NS + 500000000, "old", &old };
	const struct actor program = { CHILD, START_NS + 500000000, "new", &new };
	const pid_t pids[] = { PID };

	for (int stays = 0; stays < 3; stays++) {
		struct replay *r;
		struct script s;

		script_begin(&s);
		script_scan(&s, 0, 300, pids, 1);
		script_look(&s, 5, &python);
		script_sample(&s, 310, &python, "ab");
		script_fork(&s, 320, &child, PID);
		if (stays == 1)
			script_exec(&s, 325, &program);
		if (stays == 1)
			script_look(&s, 326, &program);
		if (stays != 2)
			script_exit(&s, 340, &child, 0);
		script_sample(&s, 1000, &python, "ab");
		script_sample(&s, 1001, &python, "ab");
		r = scene_replay(&s, true);
		assert_string_equal(scene_stacks(r), "old;a;b 3\n");
		assert_int_equal(replay_opened_cnt(r), stays ? 2 : 1);
		replay_free(r);
		script_free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_looked_at_and_sampled),
		cmocka_unit_test(a_forked_child_is_named_by_what_the_kernel_has_shown),
		cmocka_unit_test(a_childs_other_code_is_read_from_it_or_its_parent),
		cmocka_unit_test(a_name_that_comes_later_is_for_the_next_sample),
		cmocka_unit_test(a_vforked_child_becomes_another_program),
		cmocka_unit_test(a_forked_child_is_its_parents_program_until_it_executes_another),
		cmocka_unit_test(a_child_whose_fork_was_dropped_is_found),
		cmocka_unit_test(a_child_of_the_next_process_of_a_pid_is_not_the_firsts),
		cmocka_unit_test(a_fork_is_opened_when_it_is_needed),
		cmocka_unit_test(a_fork_that_ends_or_executes_is_never_opened),
	};

	return cmocka_run_group_tests_name("replay: forks", tests, scene_setup, scene_teardown);
}
