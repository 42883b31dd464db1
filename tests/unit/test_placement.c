/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_placement.c - where an anchor is put, and when a write does not pay.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "record/stack/placement.h"
#include "record/stack/stacks.h"

#define DEPTH 100
#define MS 1000000ULL
/* More samples than any run or wait takes. */
#define MANY 40

struct fixture {
	struct placement placement;
	struct frame frames[DEPTH];
	struct stack stack;
	struct placement_sample sample;
};

static void begin(struct fixture *x)
{
	memset(x, 0, sizeof(*x));
	for (__u32 i = 0; i < DEPTH; i++)
		x->frames[i].code_addr = x->frames[i].frame_addr = 0x1000 + i;
	x->stack = (struct stack){ .frames = x->frames, .cnt = DEPTH, .survived = DEPTH };
	x->sample =
		(struct placement_sample){ .time_ns = MS, .stack = &x->stack, .emitted = DEPTH };
}

static int observe(struct fixture *x, bool always)
{
	x->sample.time_ns += MS;
	return placement_observe(&x->placement, &x->sample, always);
}

/* Returns the first choice within so many samples, or -1. */
static int observe_many(struct fixture *x, int cnt, bool always)
{
	int choice = -1;

	while (cnt-- && choice < 0)
		choice = observe(x, always);
	return choice;
}

static void write_at(struct fixture *x, int choice)
{
	assert_true(choice >= 0);
	placement_written(&x->placement, x->sample.time_ns);
	x->sample.emitted = DEPTH - (__u32)choice;
	x->sample.confirmed = true;
	observe(x, true);
	x->sample.confirmed = false;
}

static void the_topmost_frame_that_survived_is_chosen(void **state)
{
	struct fixture x;

	begin(&x);
	x.stack.survived = 60;
	assert_int_equal(observe_many(&x, MANY, true), 59);
}

static void the_leaf_is_never_chosen(void **state)
{
	struct fixture x;

	begin(&x);
	assert_int_equal(observe_many(&x, MANY, true), DEPTH - 2);
}

static void an_entry_frame_is_never_chosen(void **state)
{
	struct fixture x;

	begin(&x);
	x.stack.survived = 60;
	x.frames[59].code_addr = x.frames[58].code_addr = 0;
	assert_int_equal(observe_many(&x, MANY, true), 57);
}

static void one_sample_is_no_reason_to_write(void **state)
{
	struct fixture x;

	begin(&x);
	assert_int_equal(observe(&x, true), -1);
	assert_int_equal(observe(&x, true), -1);
}

static void one_sample_without_it_is_enough_against_a_frame(void **state)
{
	struct fixture x;

	begin(&x);
	x.stack.survived = 80;
	observe(&x, true);
	x.stack.survived = 30;
	observe(&x, true);
	x.stack.survived = 80;
	assert_int_equal(observe_many(&x, MANY, true), 29);
}

static void a_stack_that_shares_nothing_gets_no_anchor(void **state)
{
	struct fixture x;

	begin(&x);
	x.stack.survived = 0;
	assert_int_equal(observe_many(&x, MANY, true), -1);
}

static void a_shallow_stack_gets_no_anchor(void **state)
{
	struct fixture x;

	begin(&x);
	x.stack.cnt = x.stack.survived = x.sample.emitted = 5;
	assert_int_equal(observe_many(&x, MANY, true), -1);
}

/* 98 frames per sample: worth it at 1000 samples a second, not at 100. */
static void without_always_it_must_save_enough(void **state)
{
	struct fixture x;

	begin(&x);
	assert_true(observe_many(&x, MANY, false) >= 0);
	begin(&x);
	for (int i = 0; i < MANY; i++) {
		x.sample.time_ns += 9 * MS;
		assert_int_equal(observe(&x, false), -1);
	}
}

static void an_anchor_that_does_its_work_is_left_alone(void **state)
{
	struct fixture x;

	begin(&x);
	write_at(&x, observe_many(&x, MANY, true));
	assert_int_equal(observe_many(&x, 100 * MANY, true), -1);
}

static void an_anchor_that_slid_far_is_written_again(void **state)
{
	struct fixture x;

	begin(&x);
	write_at(&x, observe_many(&x, MANY, true));
	x.sample.emitted = 50;
	assert_int_equal(observe_many(&x, 100 * MANY, true), DEPTH - 2);
}

static void no_second_write_before_the_first_was_met_or_given_up(void **state)
{
	struct fixture x;

	begin(&x);
	assert_true(observe_many(&x, MANY, true) >= 0);
	placement_written(&x.placement, x.sample.time_ns);
	x.sample.time_ns += 60000 * MS;
	assert_int_equal(observe_many(&x, 8, true), -1);
	assert_true(observe_many(&x, MANY, true) >= 0);
}

/* Returns milliseconds between two requested writes if anchors never help. */
static __u64 next_pause(struct fixture *x)
{
	__u64 start_ns = x->sample.time_ns;

	placement_written(&x->placement, start_ns);
	x->sample.over = true;
	assert_true(observe_many(x, 100000, true) >= 0);
	x->sample.over = false;
	return (x->sample.time_ns - start_ns) / MS;
}

static void pauses_grow_while_anchors_do_not_pay_and_end_when_they_do(void **state)
{
	__u64 pause, last = 0;
	struct fixture x;

	begin(&x);
	observe_many(&x, MANY, true);
	for (int i = 0; i < 12; i++) {
		pause = next_pause(&x);
		assert_true(pause >= last);
		last = pause;
	}
	assert_in_range(last, 5000, 5100);
	placement_written(&x.placement, x.sample.time_ns);
	x.sample.emitted = 2;
	x.sample.confirmed = true;
	assert_int_equal(observe_many(&x, 5200, true), -1);
	x.sample.emitted = 50;
	x.sample.confirmed = false;
	observe_many(&x, 100, true);
	assert_true(next_pause(&x) < 200);
}

static void a_pause_is_kept(void **state)
{
	struct fixture x;

	begin(&x);
	observe(&x, true);
	x.placement.pause_until_ns = x.sample.time_ns + 1000 * MS;
	assert_int_equal(observe_many(&x, 990, true), -1);
	assert_true(observe_many(&x, MANY, true) >= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_topmost_frame_that_survived_is_chosen),
		cmocka_unit_test(the_leaf_is_never_chosen),
		cmocka_unit_test(an_entry_frame_is_never_chosen),
		cmocka_unit_test(one_sample_is_no_reason_to_write),
		cmocka_unit_test(one_sample_without_it_is_enough_against_a_frame),
		cmocka_unit_test(a_stack_that_shares_nothing_gets_no_anchor),
		cmocka_unit_test(a_shallow_stack_gets_no_anchor),
		cmocka_unit_test(without_always_it_must_save_enough),
		cmocka_unit_test(an_anchor_that_does_its_work_is_left_alone),
		cmocka_unit_test(an_anchor_that_slid_far_is_written_again),
		cmocka_unit_test(no_second_write_before_the_first_was_met_or_given_up),
		cmocka_unit_test(pauses_grow_while_anchors_do_not_pay_and_end_when_they_do),
		cmocka_unit_test(a_pause_is_kept),
	};

	return cmocka_run_group_tests_name("placement", tests, NULL, NULL);
}
