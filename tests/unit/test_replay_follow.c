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
#include <stdio.h>
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
		expect(&s, false, "new;Na;Nb 2\nold;a;b 1\n", 0);
	}
}

/* The exit of one and the start of the next were dropped: the child is no copy of the first. */
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
	expect(&s, false, "new;Na;Nb 1\nold;a;b 1\n", 0);
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

/* ---- any order ----------------------------------------------------------------------------------- */

#define PLACES 5
#define STEPS 120

/* A machine on which anything happens, and krait hears of some of it, sooner or later. */
struct machine {
	struct script script;
	struct actor actors[PLACES];
	bool alive[PLACES];
	bool exits_dropped; /* some of them */
	unsigned seed;
	double ms;
};

static bool chance(struct machine *m, int percent)
{
	return rand_r(&m->seed) % 100 < percent;
}

static const struct actor *someone_alive(struct machine *m)
{
	for (int tries = 0; tries < 20; tries++) {
		int i = rand_r(&m->seed) % PLACES;

		if (m->alive[i])
			return &m->actors[i];
	}
	return NULL;
}

static void become(struct machine *m, struct actor *a, const struct program *program)
{
	static const double late_ms[] = { 0, 3, 12, 30, 200, 2500 };

	a->program = program;
	a->comm = program == &old ? "old" : "new";
	if (chance(m, 80))
		script_look(&m->script, m->ms + late_ms[rand_r(&m->seed) % 6], a);
}

static void begin(struct machine *m, int i)
{
	const struct actor *parent = chance(m, 60) ? someone_alive(m) : NULL;
	struct actor *a = &m->actors[i];

	a->pid = PID + i;
	a->start_ns = START_NS + (__u64)(m->ms * 1e6);
	m->alive[i] = true;
	script_start(&m->script, m->ms, a);
	if (chance(m, 50))
		script_open(&m->script, m->ms,
			    &(struct actor){ a->pid, a->start_ns, "old",
					     parent ? parent->program : &old });
	if (parent) {
		a->program = parent->program;
		a->comm = parent->comm;
		if (chance(m, 70))
			script_fork_of(&m->script, m->ms, a, parent);
		become(m, a, parent->program);
	} else {
		become(m, a, chance(m, 50) ? &old : &new);
		if (chance(m, 70))
			script_exec(&m->script, m->ms, a);
	}
}

static void end(struct machine *m, int i)
{
	m->alive[i] = false;
	m->ms += 20; /* the next one of that pid starts in another tick */
	if (!m->exits_dropped || chance(m, 70))
		script_exit(&m->script, m->ms, &m->actors[i], 0);
}

static void sample(struct machine *m, int i)
{
	const char *const stacks_of[] = { "a", "ab", "abc", "xyz" };
	const char *frames = stacks_of[rand_r(&m->seed) % 4];
	const struct actor *a = &m->actors[i];

	for (const char *f = frames; *f; f++)
		if (chance(m, 40))
			script_code(&m->script, m->ms, a, *f);
	if (chance(m, 70))
		script_sample(&m->script, m->ms, a, frames);
	else
		script_thread_sample(&m->script, m->ms, a, THREAD + 100 + i, a->start_ns + 1000,
				     frames);
}

static void happen(struct machine *m, bool execs)
{
	script_begin(&m->script);
	begin(m, 0);
	for (int step = 0; step < STEPS; step++) {
		int i = rand_r(&m->seed) % PLACES;

		m->ms += rand_r(&m->seed) % 30;
		if (!m->alive[i]) {
			begin(m, i);
		} else if (chance(m, 10)) {
			end(m, i);
		} else if (execs && chance(m, 10)) {
			become(m, &m->actors[i], m->actors[i].program == &old ? &new : &old);
			script_exec(&m->script, m->ms, &m->actors[i]);
		} else {
			sample(m, i);
		}
	}
	script_end(&m->script, m->ms + 5000);
}

/* Functions of one program never stand below the other. */
static void assert_no_mixture(struct replay *r)
{
	char *text = stacks(r), *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		assert_int_equal(strncmp(line, "new", 3) == 0 || strstr(line, "<unknown"),
				 strstr(line, ";N") != NULL || strstr(line, "<unknown"));
}

static void whatever_the_order_each_sample_has_one_account(void **state)
{
	for (unsigned seed = 0; seed < 400; seed++) {
		struct machine m = { .seed = seed, .exits_dropped = seed & 4 };
		struct replay *r;

		happen(&m, seed & 1);
		r = replay_new(m.script.log, m.script.size, seed & 2);
		replay_follow(r, PID);
		replay_run(r);
		assert_int_equal(accounted(r), m.script.sample_cnt);
		/* The looks of this script may answer an exec with what was there before. */
		if (!(seed & 1))
			assert_no_mixture(r);
		replay_free(r);
		script_free(&m.script);
	}
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
		T(a_child_of_the_next_process_of_a_pid_is_not_the_firsts),
		T(a_late_record_is_not_the_next_process),
		T(a_look_that_finds_another_process_is_no_look),
		T(whatever_the_order_each_sample_has_one_account),
	};

	return cmocka_run_group_tests_name("replay: following", tests, setup_all, teardown_all);
}
