/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_rows.c - krait top's rows contain what was sampled: in each view, now and since the start,
 * whether they grow round by round or are rebuilt.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support_profile.h"
#include "support_top.h"

#define CPU (1U << MEASURE_CPU)

static void show(struct fed *f, enum rows_view view, bool tree)
{
	assert_int_equal(model__show(f->model, view, tree), 0);
}

static void assert_row(const struct fed *f, const char *name, unsigned self_now, unsigned total_now,
		       unsigned self_all, unsigned total_all)
{
	const struct row *row = fed_row(f, name);
	struct row_sums now;

	assert_non_null(row);
	now = row_now(f->model->rows, row);
	assert_int_equal(now.self[MEASURE_CPU], self_now * TICK);
	assert_int_equal(now.total[MEASURE_CPU], total_now * TICK);
	assert_int_equal(row->all.self[MEASURE_CPU], self_all * TICK);
	assert_int_equal(row->all.total[MEASURE_CPU], total_all * TICK);
}

static void assert_both_rounds(const struct fed *f)
{
	assert_row(f, "hot", 20, 20, 80, 80);
	assert_row(f, "warm", 10, 10, 20, 20);
	assert_row(f, "main", 0, 30, 5, 105);
}

/* Two rounds: 60 hot, 10 warm, 5 main; 20 hot, 10 warm. */
static void feed_two_rounds(struct fed *f)
{
	__u32 hot = fed_stack(f, PID_A, "main;work;hot"),
	      warm = fed_stack(f, PID_A, "main;work;warm");

	fed_cpu(f, hot, 60);
	fed_cpu(f, warm, 10);
	fed_cpu(f, fed_stack(f, PID_A, "main"), 5);
	fed_round(f);
	fed_cpu(f, hot, 20);
	fed_cpu(f, warm, 10);
	fed_round(f);
}

static void functions_have_now_and_since_the_start(void **state)
{
	struct fed f;

	fed_begin(&f, false);
	feed_two_rounds(&f);
	assert_both_rounds(&f);
	/* The same result when rebuilt from what is kept. */
	assert_int_equal(model__refill(f.model), 0);
	assert_both_rounds(&f);
	fed_round(&f);
	assert_row(&f, "hot", 0, 0, 80, 80);
	fed_end(&f);
}

static void a_round_that_is_not_over_is_not_shown(void **state)
{
	struct fed f;

	fed_begin(&f, false);
	feed_two_rounds(&f);
	fed_cpu(&f, fed_stack(&f, PID_A, "main;work;hot"), 7);
	assert_both_rounds(&f);
	assert_int_equal(model__refill(f.model), 0);
	assert_both_rounds(&f);
	fed_end(&f);
}

static void recursion_counts_once(void **state)
{
	struct fed f;

	fed_begin(&f, false);
	fed_cpu(&f, fed_stack(&f, PID_A, "main;work;work;work"), 3);
	fed_round(&f);
	assert_row(&f, "work", 3, 3, 3, 3);
	fed_end(&f);
}

static void processes_and_threads_are_apart(void **state)
{
	struct fed f;

	fed_begin(&f, false);
	fed_cpu(&f, fed_stack(&f, PID_A, "main;work"), 3);
	fed_cpu(&f, fed_stack(&f, PID_B, "main;work"), 4);
	fed_round(&f);
	show(&f, ROWS_PROCESSES, false);
	assert_int_equal(f.model->rows->cnt, 3);
	assert_row(&f, "python100", 3, 3, 3, 3);
	assert_row(&f, "python200", 4, 4, 4, 4);
	show(&f, ROWS_THREADS, false);
	assert_int_equal(f.model->rows->cnt, 3);
	assert_int_equal(f.model->rows->list[1].key.tid + f.model->rows->list[2].key.tid,
			 PID_A + PID_B + 2);
	fed_end(&f);
}

static void a_process_is_chosen(void **state)
{
	struct fed f;
	struct rows_spec spec = { .view = ROWS_FUNCTIONS, .pid = PID_B };

	fed_begin(&f, false);
	fed_cpu(&f, fed_stack(&f, PID_A, "main;work"), 3);
	fed_cpu(&f, fed_stack(&f, PID_B, "main;else"), 4);
	fed_round(&f);
	assert_true(model__enter(f.model, &spec, false));
	assert_null(fed_row(&f, "work"));
	assert_row(&f, "main", 0, 4, 0, 4);
	assert_int_equal(f.model->rows->all.total[MEASURE_CPU], 4 * TICK);
	fed_cpu(&f, fed_stack(&f, PID_A, "main;work"), 3);
	fed_cpu(&f, fed_stack(&f, PID_B, "main;else"), 1);
	fed_round(&f);
	assert_row(&f, "main", 0, 1, 0, 5);
	assert_true(model__leave(f.model));
	assert_row(&f, "main", 0, 4, 0, 11);
	assert_false(model__leave(f.model));
	fed_end(&f);
}

static void containers_are_those_of_their_processes(void **state)
{
	struct fed f;

	fed_begin(&f, false);
	assert_true(groups__is_new(f.model->groups, PID_A, 1));
	groups__set(f.model->groups, PID_A, 1, "docker 0123");
	assert_false(groups__is_new(f.model->groups, PID_A, 1));
	assert_true(groups__is_new(f.model->groups, PID_A, 2));
	groups__set(f.model->groups, PID_B, 2, "");
	fed_cpu(&f, fed_stack(&f, PID_A, "main"), 3);
	fed_cpu(&f, fed_stack(&f, PID_B, "main"), 4);
	fed_round(&f);
	show(&f, ROWS_CONTAINERS, false);
	assert_row(&f, "docker 0123", 3, 3, 3, 3);
	assert_row(&f, "(no container)", 4, 4, 4, 4);
	fed_end(&f);
}

static void a_tree_has_callers_above_what_they_call(void **state)
{
	struct fed f;
	char names[256];

	fed_begin(&f, false);
	feed_two_rounds(&f);
	show(&f, ROWS_FUNCTIONS, true);
	assert_string_equal(fed_names(&f, names, sizeof(names)), "python100 main work hot warm");
	/* Without a branch there is no indentation. */
	assert_int_equal(f.model->order.depths[1], 0);
	assert_int_equal(f.model->order.depths[2], 0);
	assert_int_equal(f.model->order.depths[3], 1);
	assert_int_equal(f.model->order.depths[4], 1);
	assert_row(&f, "hot", 20, 20, 80, 80);
	assert_int_equal(model__fold(f.model, f.model->order.list[2], false), 0);
	assert_string_equal(fed_names(&f, names, sizeof(names)), "python100 main work");
	/* It stays folded. */
	fed_cpu(&f, fed_stack(&f, PID_A, "main;work;new"), 50);
	fed_round(&f);
	assert_string_equal(fed_names(&f, names, sizeof(names)), "python100 main work");
	fed_end(&f);
}

static void callers_and_callees_of_a_function(void **state)
{
	struct fed f;
	struct rows_spec spec = { .view = ROWS_CALLERS };

	fed_begin(&f, false);
	fed_cpu(&f, fed_stack(&f, PID_A, "main;work;hot"), 5);
	fed_cpu(&f, fed_stack(&f, PID_A, "main;else;work"), 3);
	fed_cpu(&f, fed_stack(&f, PID_A, "work"), 1);
	fed_round(&f);
	spec.focus = fed_row(&f, "work")->key;
	assert_true(model__enter(f.model, &spec, false));
	assert_row(&f, "main", 0, 5, 0, 5);
	assert_row(&f, "else", 0, 3, 0, 3);
	/* No Python function called it. */
	assert_row(&f, "python100", 0, 1, 0, 1);
	assert_non_null(f.model->callees);
	assert_int_equal(f.model->callees->cnt, 3);
	assert_int_equal(sum_of(f.model->callees->list[1].all.total, CPU) +
				 sum_of(f.model->callees->list[2].all.total, CPU),
			 9 * TICK);
	fed_end(&f);
}

static void lines_of_a_file(void **state)
{
	struct fed f;
	struct rows_spec spec = { .view = ROWS_SOURCE };
	struct row_key line = { .line = 11 + 10 * ('h' - 'a') };

	fed_begin(&f, false);
	feed_two_rounds(&f);
	spec.focus = fed_row(&f, "hot")->key;
	assert_true(model__enter(f.model, &spec, false));
	line.file = spec.focus.file;
	assert_true(rows__find(f.model->rows, &line));
	assert_int_equal(sum_of(f.model->rows->list[rows__find(f.model->rows, &line)].all.self,
				CPU),
			 80 * TICK);
	/* The file does not exist. */
	assert_non_null(f.model->source);
	fed_end(&f);
}

static void a_history_has_a_column_for_each_round(void **state)
{
	struct fed f;
	__u32 hot;

	fed_begin(&f, false);
	hot = fed_stack(&f, PID_A, "hot");
	for (unsigned i = 0; i < 2 * ROUNDS_MAX; i++) {
		fed_cpu(&f, hot, i % 7);
		fed_round(&f);
	}
	for (int anew = 0; anew < 2; anew++) {
		for (unsigned age = 0; age < ROUNDS_MAX; age++)
			assert_int_equal(row_history(f.model->rows, fed_row(&f, "hot"), age),
					 (2 * ROUNDS_MAX - 1 - age) % 7 * TICK / 1000);
		assert_int_equal(model__refill(f.model), 0);
	}
	/* Nothing for some rounds. */
	for (unsigned i = 0; i < 3; i++)
		fed_round(&f);
	for (unsigned age = 0; age < 3; age++)
		assert_int_equal(row_history(f.model->rows, fed_row(&f, "hot"), age), 0);
	assert_int_equal(row_history(f.model->rows, fed_row(&f, "hot"), 3),
			 (2 * ROUNDS_MAX - 1) % 7 * TICK / 1000);
	fed_cpu(&f, hot, 1);
	fed_round(&f);
	assert_int_equal(row_history(f.model->rows, fed_row(&f, "hot"), 0), TICK / 1000);
	assert_int_equal(row_history(f.model->rows, fed_row(&f, "hot"), 1), 0);
	fed_end(&f);
}

/* It is seen when it ends, and then counts in the rounds in which it lasted. */
static void a_wait_is_of_the_rounds_that_it_lasted(void **state)
{
	struct fed f;
	__u32 node;
	const struct row *row;

	fed_begin(&f, true);
	f.model->options.measures = 1U << MEASURE_WAIT;
	assert_int_equal(model__refill(f.model), 0);
	node = fed_stack(&f, PID_A, "wait");
	fed_round(&f);
	fed_round(&f);
	f.now_ns += SECOND / 2;
	fed_wait(&f, node, STATE_IO, 2 * SECOND);
	f.now_ns -= SECOND / 2;
	fed_round(&f);
	for (int anew = 0; anew < 2; anew++) {
		row = fed_row(&f, "wait");
		assert_int_equal(row_now(f.model->rows, row).total[MEASURE_WAIT], SECOND / 2);
		assert_int_equal(row->all.total[MEASURE_WAIT], 2 * SECOND);
		assert_int_equal(row_history(f.model->rows, row, 0), 500000);
		assert_int_equal(row_history(f.model->rows, row, 1), 1000000);
		assert_int_equal(row_history(f.model->rows, row, 2), 500000);
		assert_int_equal(row->samples, 1);
		assert_int_equal(model__refill(f.model), 0);
	}
	fed_end(&f);
}

static void measures_are_apart(void **state)
{
	struct fed f;
	__u32 node;
	const struct row *row;

	fed_begin(&f, true);
	node = fed_stack(&f, PID_A, "work");
	f.now_ns += SECOND / 2;
	fed_cpu(&f, node, 10);
	fed_wait(&f, node, STATE_GIL, 20 * TICK);
	fed_wait(&f, node, STATE_SLEEP, 30 * TICK);
	fed_wait(&f, node, STATE_RUNNABLE, 5 * TICK);
	f.now_ns -= SECOND / 2;
	fed_round(&f);
	for (int anew = 0; anew < 2; anew++) {
		row = fed_row(&f, "work");
		assert_int_equal(row->all.total[MEASURE_CPU], 10 * TICK);
		assert_int_equal(row->all.total[MEASURE_GIL], 20 * TICK);
		assert_int_equal(row->all.total[MEASURE_WAIT], 30 * TICK);
		assert_int_equal(row->all.total[MEASURE_READY], 5 * TICK);
		assert_int_equal(model__refill(f.model), 0);
	}
	show(&f, ROWS_STATES, false);
	assert_non_null(fed_row(&f, "on a CPU with the GIL"));
	assert_non_null(fed_row(&f, "asleep"));
	assert_int_equal(fed_row(&f, "waits for the GIL")->all.total[MEASURE_GIL], 20 * TICK);
	fed_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_have_now_and_since_the_start),
		cmocka_unit_test(a_round_that_is_not_over_is_not_shown),
		cmocka_unit_test(recursion_counts_once),
		cmocka_unit_test(processes_and_threads_are_apart),
		cmocka_unit_test(a_process_is_chosen),
		cmocka_unit_test(containers_are_those_of_their_processes),
		cmocka_unit_test(a_tree_has_callers_above_what_they_call),
		cmocka_unit_test(callers_and_callees_of_a_function),
		cmocka_unit_test(lines_of_a_file),
		cmocka_unit_test(a_history_has_a_column_for_each_round),
		cmocka_unit_test(a_wait_is_of_the_rounds_that_it_lasted),
		cmocka_unit_test(measures_are_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
