/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_trim.c - processes come and go: krait top's dictionary stays small, no sum changes, and the
 * places on display stay the same; also pauses and counting anew.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <malloc.h>
#include <cmocka.h>

#include "profile/identities.h"
#include "support_profile.h"
#include "support_top.h"

/* Enough for many trims. */
#define LIVES 120
#define STACKS 200

/* Runs a process with functions of its own, with one sample each. */
static void live(struct fed *f, int pid, unsigned generation)
{
	char functions[64];

	for (unsigned i = 0; i < STACKS; i++) {
		snprintf(functions, sizeof(functions), "main;work;leaf%u", i % 20);
		fed_cpu(f, fed_stack(f, pid, functions), 1);
	}
	/* Each has one function that no other has. */
	snprintf(functions, sizeof(functions), "main;once%u", generation);
	fed_cpu(f, fed_stack(f, pid, functions), 1);
}

static void sums_stay_and_the_dictionary_small(void **state)
{
	struct fed f;
	__u32 most = 0, nodes;
	__u64 total = 0;

	fed_begin(&f, true);
	f.model->trim_at = 500;
	for (unsigned i = 0; i < LIVES; i++) {
		int pid = 1 + (int)(i % 900);

		live(&f, pid, i % 5);
		total += STACKS + 1;
		fed_wait(&f, fed_stack(&f, pid, "main;sleep"), STATE_SLEEP, TICK);
		fed_round(&f);
		f.gone[pid] = true;
		/* Normally model.c does not trim a dictionary this small. */
		f.model->trim_at = f.model->trim_at > 3000 ? 3000 : f.model->trim_at;
		nodes = dict__node_cnt(f.session->dict);
		most = nodes > most ? nodes : most;
		assert_int_equal(f.model->rows->all.total[MEASURE_CPU], total * TICK);
		assert_int_equal(fed_row(&f, "main")->all.total[MEASURE_CPU], total * TICK);
		assert_int_equal(fed_row(&f, "leaf3")->all.self[MEASURE_CPU],
				 (__u64)(i + 1) * STACKS / 20 * TICK);
		assert_int_equal(fed_row(&f, "sleep")->all.total[MEASURE_WAIT], (i + 1) * TICK);
		assert_int_equal(profile__counts(samples__all(f.model->samples), 0)->samples,
				 total);
	}
	assert_true(f.model->trims > 0);
	/*
	 * 30 rounds of processes with 25 nodes are kept, plus one process for those that have
	 * ended.
	 */
	assert_true(most < 4000);
	assert_int_equal(model__show(f.model, ROWS_PROCESSES, false), 0);
	assert_non_null(fed_row(&f, NAME_ENDED));
	assert_int_equal(f.model->rows->all.total[MEASURE_CPU], total * TICK);
	fed_end(&f);
}

/* Memory in use right after a trim. */
static size_t used(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* Each with its ids, as in a session. */
static void live_once(struct fed *f, int pid)
{
	const struct identity one = { .pid = pid, .uid = 1000 };

	fed_cpu(f, fed_stack(f, pid, "main;work;hot"), 1);
	identities_add(dict__identities(f->session->dict), &one);
	f->gone[pid] = true;
}

static void hours_of_processes_take_no_more_memory(void **state)
{
	struct fed f;
	size_t early = 0, late = 0;
	__u32 seen = 0;

	fed_begin(&f, false);
	for (int pid = 1; pid < FED_PIDS; pid++) {
		live_once(&f, pid);
		if (pid % 50)
			continue;
		fed_round(&f);
		if (f.model->trims == seen)
			continue;
		seen = f.model->trims;
		late = used();
		if (seen == 3)
			early = late;
	}
	assert_true(seen > 20);
	print_message("# %zu KiB after 3 trims, %zu after %u\n", early >> 10, late >> 10, seen);
#ifndef __SANITIZE_ADDRESS__ /* its malloc() does not say how much is in use */
	assert_true(early && late < early + early / 20);
#endif
	/* The latest one is still known. */
	assert_non_null(identities_find(dict__identities_of(f.session->dict), FED_PIDS - 1, 0));
	assert_null(identities_find(dict__identities_of(f.session->dict), 1, 0));
	fed_end(&f);
}

static void states_stay(void **state)
{
	struct fed f;
	__u32 node;

	fed_begin(&f, true);
	node = fed_stack(&f, PID_A, "main;sleep");
	for (unsigned i = 0; i < 10; i++)
		fed_wait(&f, node, STATE_SLEEP, TICK);
	fed_wait(&f, node, STATE_GIL, TICK);
	fed_round(&f);
	for (unsigned i = 0; i < ROUNDS_MAX + 1; i++)
		fed_round(&f);
	f.gone[PID_A] = true;
	f.model->trim_at = 0;
	fed_round(&f);
	assert_int_equal(f.model->trims, 1);
	assert_int_equal(model__show(f.model, ROWS_STATES, false), 0);
	assert_int_equal(fed_row(&f, "asleep")->all.total[MEASURE_WAIT], 10 * TICK);
	assert_int_equal(fed_row(&f, "waits for the GIL")->all.total[MEASURE_GIL], TICK);
	fed_end(&f);
}

static void a_place_is_the_same_one_afterwards(void **state)
{
	struct fed f;
	struct rows_spec spec = { .view = ROWS_CALLERS };

	fed_begin(&f, false);
	/* The first of these is forgotten, so all later ones change their numbers. */
	profile__count(f.session, 0, fed_stack(&f, PID_A, "nobody;wants;this"), TICK);
	fed_cpu(&f, fed_stack(&f, PID_B, "main;work;hot"), 2);
	fed_round(&f);
	spec.focus = fed_row(&f, "work")->key;
	assert_true(model__enter(f.model, &spec, false));
	assert_non_null(fed_row(&f, "main"));
	f.model->trim_at = 0;
	fed_round(&f);
	assert_int_equal(f.model->trims, 1);
	assert_int_not_equal(model_place(f.model)->spec.focus.name, spec.focus.name);
	assert_int_equal(fed_row(&f, "main")->all.total[MEASURE_CPU], 2 * TICK);
	fed_cpu(&f, fed_stack(&f, PID_B, "main;work;hot"), 1);
	fed_round(&f);
	assert_int_equal(fed_row(&f, "main")->all.total[MEASURE_CPU], 3 * TICK);
	fed_end(&f);
}

static void a_pause_is_counted_when_it_is_over(void **state)
{
	struct fed f;
	__u32 node;

	fed_begin(&f, false);
	node = fed_stack(&f, PID_A, "hot");
	fed_cpu(&f, node, 5);
	fed_round(&f);
	/* In the middle of a round. */
	fed_cpu(&f, node, 1);
	f.now_ns += SECOND / 4;
	samples__pause(f.model->samples, true, f.now_ns);
	fed_cpu(&f, node, 100);
	fed_round(&f);
	assert_int_equal(fed_row(&f, "hot")->all.total[MEASURE_CPU], 5 * TICK);
	assert_int_equal(row_now(f.model->rows, fed_row(&f, "hot")).total[MEASURE_CPU], 5 * TICK);
	assert_int_equal(samples__all_ns(f.model->samples), SECOND);
	samples__pause(f.model->samples, false, f.now_ns);
	assert_int_equal(model__refill(f.model), 0);
	assert_int_equal(fed_row(&f, "hot")->all.total[MEASURE_CPU], 105 * TICK);
	f.now_ns -= SECOND / 4;
	fed_round(&f);
	assert_int_equal(fed_row(&f, "hot")->all.total[MEASURE_CPU], 106 * TICK);
	assert_int_equal(row_now(f.model->rows, fed_row(&f, "hot")).total[MEASURE_CPU], TICK);
	/* A second, a pause of one second, and the rest of the second round. */
	assert_int_equal(samples__all_ns(f.model->samples), 3 * SECOND);
	assert_int_equal(samples__round(f.model->samples, 0)->to_ns -
				 samples__round(f.model->samples, 0)->from_ns,
			 SECOND);
	fed_end(&f);
}

static void counting_begins_anew(void **state)
{
	struct fed f;
	__u32 node;

	fed_begin(&f, false);
	node = fed_stack(&f, PID_A, "hot");
	fed_cpu(&f, node, 5);
	fed_round(&f);
	fed_cpu(&f, node, 2);
	samples__reset(f.model->samples, f.now_ns);
	assert_int_equal(model__refill(f.model), 0);
	assert_int_equal(samples__all_ns(f.model->samples), 0);
	fed_cpu(&f, node, 3);
	fed_round(&f);
	assert_int_equal(fed_row(&f, "hot")->all.total[MEASURE_CPU], 3 * TICK);
	assert_int_equal(samples__all_ns(f.model->samples), SECOND);
	fed_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_stay_and_the_dictionary_small),
		cmocka_unit_test(hours_of_processes_take_no_more_memory),
		cmocka_unit_test(states_stay),
		cmocka_unit_test(a_place_is_the_same_one_afterwards),
		cmocka_unit_test(a_pause_is_counted_when_it_is_over),
		cmocka_unit_test(counting_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
