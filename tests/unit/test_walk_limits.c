/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_walk_limits.c - bpf/python/walk.h on very long and circular chains.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support_walker.h"

/* Brent's last update is at node 1,024: a longer circle ends as "depth", with its frames repeated. */
#define LONGEST_CIRCLE_SEEN 1023

static void build_nodes(struct walk_fixture *x, int version, __u32 cnt)
{
	walk_fixture_begin(x, version);
	if (!x->stack.cnt)
		fake_push_entry(&x->stack);
	fake_code(x->fake);
	while (x->stack.cnt < cnt)
		fake_push(&x->stack, FAKE_THREAD, x->fake->code_addr, 2 * x->stack.cnt);
}

static void a_stack_of_the_maximum_depth_is_complete(void **state)
{
	struct walk_fixture *x = *state;

	for_each_version(v)
	{
		build_nodes(x, v, KRAIT_MAX_FRAMES);
		walk_now(x);
		assert_walk(&x->result, &x->stack, REASON_PYTHON, KRAIT_MAX_FRAMES);
	}
}

static void one_frame_more_is_truncated_and_keeps_the_leaf_side(void **state)
{
	struct walk_fixture *x = *state;

	for_each_version(v)
	{
		for (__u32 more = 1; more < 4; more++) {
			build_nodes(x, v, KRAIT_MAX_FRAMES + more);
			walk_now(x);
			assert_walk(&x->result, &x->stack, REASON_DEPTH, KRAIT_MAX_FRAMES);
			assert_int_equal(x->fake->reads, KRAIT_MAX_FRAMES);
		}
	}
}

static void a_stack_of_twice_the_maximum_costs_no_more(void **state)
{
	struct walk_fixture *x = *state;

	for_each_version(v)
	{
		build_nodes(x, v, 2 * KRAIT_MAX_FRAMES);
		host_walk(x->fake, x->tstate_addr, true, &x->result);
		assert_int_equal(x->result.reason, REASON_DEPTH);
		assert_true(x->fake->reads <= WALK_MAX_READS);
	}
}

/* Makes the frame at index length - 1 + tail point to the one at index tail. */
static void close_circle(struct walk_fixture *x, __u32 tail, __u32 length)
{
	fake_put(x->fake, MEMBER(x, tail + length - 1, previous),
		 fake_expected(&x->stack, tail)->frame_addr);
}

static void open_circle(struct walk_fixture *x, __u32 tail, __u32 length)
{
	fake_put(x->fake, MEMBER(x, tail + length - 1, previous),
		 fake_expected(&x->stack, tail + length)->frame_addr);
}

static void assert_circle(struct walk_fixture *x, __u32 tail, __u32 length)
{
	close_circle(x, tail, length);
	walk_now(x);
	open_circle(x, tail, length);
	if (length <= LONGEST_CIRCLE_SEEN && tail < 1024)
		assert_int_equal(x->result.reason, REASON_CYCLE);
	else
		assert_true(x->result.reason == REASON_CYCLE || x->result.reason == REASON_DEPTH);
	assert_true(x->fake->reads <= KRAIT_MAX_FRAMES);
}

static void a_circle_of_any_length_is_never_complete(void **state)
{
	struct walk_fixture *x = *state;

	build_nodes(x, 2, 3100);
	for (__u32 length = 1; length <= 3000; length++)
		assert_circle(x, 0, length);
}

static void a_circle_behind_a_tail_is_never_complete(void **state)
{
	static const __u32 tails[] = { 1, 2, 3, 7, 31, 100, 500, 1000 };
	struct walk_fixture *x = *state;

	build_nodes(x, 1, 3100);
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		for (__u32 length = 1; length < 1024; length += 1 + length / 9)
			assert_circle(x, tails[i], length);
	}
}

static void a_long_stack_without_a_circle_is_never_called_one(void **state)
{
	struct walk_fixture *x = *state;

	for (__u32 cnt = 1; cnt <= KRAIT_MAX_FRAMES; cnt += 1 + cnt / 5) {
		build_nodes(x, 0, cnt);
		walk_now(x);
		assert_walk(&x->result, &x->stack, REASON_PYTHON, cnt);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_of_the_maximum_depth_is_complete),
		cmocka_unit_test(one_frame_more_is_truncated_and_keeps_the_leaf_side),
		cmocka_unit_test(a_stack_of_twice_the_maximum_costs_no_more),
		cmocka_unit_test(a_circle_of_any_length_is_never_complete),
		cmocka_unit_test(a_circle_behind_a_tail_is_never_complete),
		cmocka_unit_test(a_long_stack_without_a_circle_is_never_called_one),
	};

	return cmocka_run_group_tests_name("walk: limits", tests, walk_fixture_new,
					   walk_fixture_free);
}
