/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_replay_follow.c - processes come, fork, exec and go, and krait hears of it late, twice, in another
 * order or not at all: no sample is lost silently, and none counts for the wrong program.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "profile/profile.h"
#include "replay_script.h"

/* Above what any process of this machine can have. */
#define PID 5000001
#define CHILD 5000002
#define THREAD 5000003
/* Starts of processes: ticks of 10 ms, and what is below only records know. */
#define START_NS (900 * 1000000000ULL + 10000123)

static struct program old, new;

static const struct actor python = { PID, START_NS, "old", &old };

static int setup_all(void **state)
{
	program_make(&old, "");
	program_make(&new, "N");
	return 0;
}

static int teardown_all(void **state)
{
	program_drop(&old);
	program_drop(&new);
	return 0;
}

/* Every sample of the script has one account. */
static __u64 accounted(struct replay *r)
{
	const struct accounts *accounts = &profile__counts(replay_profile(r), 0)->accounts;
	__u64 sum = accounts->unwanted;

	for (unsigned i = 0; i < REASON_CNT; i++)
		sum += accounts->reasons[i];
	return sum;
}

/* The folded stacks without the name of the one file that all functions are in. */
static char *stacks(struct replay *r)
{
	static const char file[] = " (p.py)";
	static char text[4096];
	char *at;

	snprintf(text, sizeof(text), "%s", replay_folded(r));
	while ((at = strstr(text, file)))
		memmove(at, at + strlen(file), strlen(at + strlen(file)) + 1);
	return text;
}

/* Replays it as record -p PID. ring_full: of those accounts that no record stands for. */
static void expect(struct script *s, bool all, const char *folded, __u64 ring_full)
{
	struct replay *r;

	script_end(s, 60000);
	r = replay_new(s->log, s->size, all);
	if (!all)
		replay_follow(r, PID);
	replay_run(r);
	if (folded)
		assert_string_equal(stacks(r), folded);
	assert_int_equal(accounted(r), s->sample_cnt + ring_full);
	replay_free(r);
	script_free(s);
}

static void a_process_is_looked_at_and_sampled(void **state)
{
	struct script s;

	script_begin(&s);
	script_look(&s, 0, &python);
	script_sample(&s, 10, &python, "ab");
	script_sample(&s, 11, &python, "ab");
	script_sample(&s, 12, &python, "ac");
	expect(&s, false, "old;a;b 2\nold;a;c 1\n", 0);
}

/* ---- fork -------------------------------------------------------------------------------------- */

/* Nothing is read of the child: it may have gone long ago. What it ran is what the kernel has shown. */
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
	expect(&s, false, "old;a;b 3\n", 0);
}

/* What the kernel has not shown is read from the child alone: its parent may have something else there. */
static void a_childs_other_code_is_read_from_the_child(void **state)
{
	const struct actor child = { CHILD, START_NS + 500000000, "old", &old };

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
		expect(&s, false,
		       opened ? "old;a;b 1\nold;a;c 1\n" :
				"old;a;<unknown function> 1\nold;a;b 1\n",
		       0);
	}
}

/* The parent of a vfork sleeps until the child has another program: that may be Python or not. */
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
		expect(&s, false,
		       is_python ? "new;Na 1\nold;a 1\nold;a;b 2\n" : "old;a 1\nold;a;b 2\n", 0);
	}
}

/* The event of the fork was dropped: the child's first sample has it looked at. */
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
	expect(&s, false, "kid;Na;Nb 2\nold;a;b 1\n", 0);
}

/* ---- exec -------------------------------------------------------------------------------------- */

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
	expect(&s, false, "new;Na;Nb 1\nold;a;b 1\n", 0);
}

/* The thread takes over the number and the start of the leader (de_thread(), fs/exec.c). */
static void exec_by_another_thread_forgets_all_threads(void **state)
{
	const struct actor after = { PID, START_NS, "new", &new };

	/* The ends of the others come before the exec or, from another CPU, behind it. */
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
		expect(&s, false, "new;Na;Nb 2\nold;a;b 1\nold;a;c 1\n", 0);
	}
}

/* Exec of the same file, as os.execv(sys.executable) does: the old names are none of the new image's. */
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
		assert_int_equal(accounted(r), s.sample_cnt);
		assert_int_equal(replay_reason(r, REASON_PYTHON), s.sample_cnt - lost);
		/* Nobody waits long; what came in that time is counted as lost. */
		assert_true(late_ms[i] <= 15 ? !lost : late_ms[i] >= 300 ? lost == 2 : lost <= 1);
		assert_null(strstr(stacks(r), "new;a"));
		assert_null(strstr(stacks(r), "unknown"));
		replay_free(r);
		script_free(&s);
	}
}

/* ---- ends -------------------------------------------------------------------------------------- */

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
	expect(&s, false, "old;a;b 1\nold;a;b;c 1\nold;a;c 2\n", 0);
}

/* The exit says what the ring had no room for; without an exit the kernel is asked. */
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

/* ---- a pid is used again ------------------------------------------------------------------------ */

/* The end of the first, and the fork of the second, may have been dropped. */
static void the_next_process_of_a_pid_is_another_one(void **state)
{
	const struct actor next = { PID, START_NS + 700000000, "new", &new };

	for (int told = 0; told < 4; told++) {
		struct script s;

		script_begin(&s);
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
		expect(&s, false, NULL, 0);
	}
}

/* A record of the first comes when the second is known: it is none of the second's. */
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
	assert_string_equal(stacks(r), "new;Na;Nb 1\n");
	assert_int_equal(replay_reason(r, REASON_NO_PROCESS), 1);
	replay_free(r);
	script_free(&s);
}

/* The look answers with the next process of that pid: that is not the one that was meant. */
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
	expect(&s, false, "", 0);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_process_is_looked_at_and_sampled),
		T(a_forked_child_is_named_by_what_the_kernel_has_shown),
		T(a_childs_other_code_is_read_from_the_child),
		T(a_vforked_child_becomes_another_program),
		T(a_child_whose_fork_was_dropped_is_found),
		T(exec_forgets_the_old_program),
		T(exec_by_another_thread_forgets_all_threads),
		T(exec_looked_at_late_has_no_old_names),
		T(a_leader_that_exits_first_leaves_its_process),
		T(interrupts_without_room_are_counted_once),
		T(the_next_process_of_a_pid_is_another_one),
		T(a_late_record_is_not_the_next_process),
		T(a_look_that_finds_another_process_is_no_look),
	};

	return cmocka_run_group_tests_name("replay: following", tests, setup_all, teardown_all);
}
