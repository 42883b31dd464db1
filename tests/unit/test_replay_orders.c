/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_replay_orders.c - a machine on which anything happens, and krait hears of some of it, sooner
 * or later: each sample has one account, and no stack mixes two programs.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay_scene.h"

#define PLACES 5
#define STEPS 120

/* A machine on which anything happens, and krait hears of some of it, sooner or later. */
struct machine {
	struct script script;
	struct actor actors[PLACES];
	bool alive[PLACES];
	bool exits_dropped; /* some are dropped */
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
	m->ms += 20; /* the next process with that pid starts in a later tick */
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

/* Functions of one program are never below the other's. */
static void assert_no_mixture(struct replay *r)
{
	char *text = scene_stacks(r), *save = NULL;

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
		assert_int_equal(scene_accounted(r), m.script.sample_cnt);
		/* The looks of this script may answer an exec with the earlier state. */
		if (!(seed & 1))
			assert_no_mixture(r);
		replay_free(r);
		script_free(&m.script);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_the_order_each_sample_has_one_account),
	};

	return cmocka_run_group_tests_name("replay: any order", tests, scene_setup, scene_teardown);
}
