/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_thread_cache.c - bpf/python/thread.h: a remembered thread state counts only while it is this
 * thread's, active, and in its list; and its effect on a whole interrupt.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support_walker.h"

#define SELF 0x7f55aa001740ULL
#define OTHER (SELF + 0x801000)

/* Newest first, as in the list: head, mine, tail. */
struct fixture {
	struct fake *fake;
	struct fake_stack stack;
	struct stack_walk_result result;
	const struct py_offsets *off;
	__u64 interp_addr, head_addr, mine_addr, tail_addr;
	struct thread_slot slot;
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	fake_free(x->fake);
	free(x);
	return 0;
}

static void begin(struct fixture *x, int version)
{
	if (x->fake)
		fake_free(x->fake);
	x->fake = fake_new(&fake_versions[version], 0x7f3300000000, 1 << 20);
	x->off = &x->fake->offsets;
	x->interp_addr = fake_interp(x->fake);
	x->tail_addr = fake_thread(x->fake, x->interp_addr, OTHER, FAKE_STATUS_BOUND);
	x->mine_addr = fake_thread(x->fake, x->interp_addr, SELF, FAKE_STATUS_BOUND);
	x->head_addr = fake_thread(x->fake, x->interp_addr, OTHER + 64, FAKE_STATUS_BOUND);
	fake_stack_begin(&x->stack, x->fake, x->mine_addr);
	fake_push_entry(&x->stack);
	fake_push(&x->stack, FAKE_THREAD, fake_code(x->fake), 20);
	x->slot =
		(struct thread_slot){ .tstate_addr = x->mine_addr, .interp_addr = x->interp_addr };
}

static bool valid(struct fixture *x)
{
	return host_still_valid(x->fake, SELF, x->mine_addr, x->interp_addr);
}

static void a_state_that_did_not_change_is_valid_in_two_reads(void **state)
{
	struct fixture *x = *state;

	for_each_version(v)
	{
		begin(x, v);
		assert_true(valid(x));
		assert_int_equal(x->fake->reads, 2);
		fake_unlink_thread(x->fake, x->head_addr); /* mine becomes the head */
		assert_true(valid(x));
		fake_unlink_thread(x->fake, x->tail_addr); /* and alone */
		assert_true(valid(x));
	}
}

static void nothing_remembered_is_not_valid(void **state)
{
	struct fixture *x = *state;

	begin(x, 1);
	assert_false(host_still_valid(x->fake, SELF, 0, 0));
	assert_false(host_still_valid(x->fake, SELF, 0, x->interp_addr));
	assert_false(host_still_valid(x->fake, SELF, x->mine_addr | 4, x->interp_addr));
	assert_int_equal(x->fake->reads, 0);
}

static void another_threads_state_is_not_valid(void **state)
{
	struct fixture *x = *state;

	for_each_version(v)
	{
		begin(x, v);
		assert_false(host_still_valid(x->fake, SELF, x->head_addr, x->interp_addr));
		assert_false(host_still_valid(x->fake, SELF, x->mine_addr, x->interp_addr + 8));
		assert_false(host_still_valid(x->fake, OTHER, x->mine_addr, x->interp_addr));
	}
}

static void a_state_of_another_interpreter_is_not_valid(void **state)
{
	struct fixture *x = *state;

	for_each_version(v)
	{
		begin(x, v);
		fake_put(x->fake, x->mine_addr + x->off->thread.interp, fake_interp(x->fake));
		assert_false(valid(x));
	}
}

static void a_state_that_is_not_the_active_one_is_not_valid(void **state)
{
	struct fixture *x = *state;

	for_each_version(v)
	{
		begin(x, v);
		fake_put_u32(x->fake, x->mine_addr + x->off->thread.status, FAKE_STATUS_IDLE);
		assert_false(valid(x));
	}
}

/* free() leaves the bytes: id, interpreter and status are unchanged. */
static void a_freed_state_is_not_valid(void **state)
{
	struct fixture *x = *state;

	for_each_version(v)
	{
		begin(x, v);
		fake_unlink_thread(x->fake, x->mine_addr);
		assert_false(valid(x));

		begin(x, v);
		fake_unlink_thread(x->fake, x->head_addr);
		fake_unlink_thread(x->fake, x->mine_addr); /* it was the head */
		assert_false(valid(x));
	}
}

static void a_freed_state_and_a_freed_neighbour_are_not_valid(void **state)
{
	struct fixture *x = *state;

	for_each_version(v)
	{
		begin(x, v);
		fake_unlink_thread(x->fake, x->mine_addr);
		fake_unlink_thread(x->fake, x->head_addr);
		assert_false(valid(x));

		begin(x, v);
		fake_unlink_thread(x->fake, x->head_addr);
		fake_unlink_thread(x->fake, x->tail_addr);
		fake_unlink_thread(x->fake, x->mine_addr);
		assert_false(valid(x));
	}
}

static void reused_memory_that_looks_right_but_is_in_no_list_is_not_valid(void **state)
{
	struct fixture *x = *state;

	for_each_version(v)
	{
		begin(x, v);
		fake_unlink_thread(x->fake, x->mine_addr);
		fake_put(x->fake, x->mine_addr + x->off->thread.prev, 0);
		assert_false(valid(x));
		fake_put(x->fake, x->mine_addr + x->off->thread.prev, x->tail_addr);
		assert_false(valid(x));
		fake_put(x->fake, x->mine_addr + x->off->thread.prev, x->mine_addr);
		assert_false(valid(x));
		fake_put(x->fake, x->mine_addr + x->off->thread.prev, 0x10);
		assert_false(valid(x));
	}
}

static void a_state_whose_neighbour_went_stays_valid(void **state)
{
	struct fixture *x = *state;

	for_each_version(v)
	{
		begin(x, v);
		fake_unlink_thread(x->fake, x->head_addr);
		memset(fake_at(x->fake, x->head_addr), 0xdd, KRAIT_THREAD_WINDOW);
		fake_thread(x->fake, x->interp_addr, OTHER, FAKE_STATUS_BOUND);
		assert_true(valid(x));
	}
}

static void a_fault_makes_it_invalid_and_the_lists_are_searched(void **state)
{
	struct fixture *x = *state;

	for_each_version(v)
	{
		for (unsigned long n = 1; n <= 2; n++) {
			begin(x, v);
			x->fake->fail_at = n;
			host_sample(x->fake, SELF, &x->slot, &x->result);
			assert_walk(&x->result, &x->stack, REASON_PYTHON, x->stack.cnt);
			assert_int_equal(x->result.tstate_addr, x->mine_addr);
		}
	}
}

static void an_interrupt_remembers_the_state_that_it_found(void **state)
{
	struct fixture *x = *state;

	for_each_version(v)
	{
		begin(x, v);
		x->slot.tstate_addr = x->slot.interp_addr = 0;
		host_sample(x->fake, SELF, &x->slot, &x->result);
		assert_walk(&x->result, &x->stack, REASON_PYTHON, x->stack.cnt);
		assert_int_equal(x->slot.tstate_addr, x->mine_addr);
		assert_int_equal(x->slot.interp_addr, x->interp_addr);
	}
}

static void an_interrupt_forgets_a_state_that_has_gone(void **state)
{
	struct fixture *x = *state;

	for_each_version(v)
	{
		begin(x, v);
		fake_unlink_thread(x->fake, x->mine_addr);
		host_sample(x->fake, SELF, &x->slot, &x->result);
		assert_int_equal(x->result.reason, REASON_NATIVE_THREAD);
		assert_int_equal(x->slot.tstate_addr, 0);
	}
}

static void a_state_that_is_not_bound_is_used_but_not_remembered(void **state)
{
	struct fixture *x = *state;

	for_each_version(v)
	{
		begin(x, v);
		fake_put_u32(x->fake, x->mine_addr + x->off->thread.status, FAKE_STATUS_IDLE);
		host_sample(x->fake, SELF, &x->slot, &x->result);
		assert_walk(&x->result, &x->stack, REASON_PYTHON, x->stack.cnt);
		assert_int_equal(x->slot.tstate_addr, 0);
	}
}

static void one_torn_or_faulting_search_is_tried_again(void **state)
{
	struct fixture *x = *state;

	for_each_version(v)
	{
		begin(x, v);
		x->fake->fail_at = 3; /* the first thread state */
		host_sample(x->fake, SELF, NULL, &x->result);
		assert_walk(&x->result, &x->stack, REASON_PYTHON, x->stack.cnt);

		begin(x, v);
		fake_put(x->fake, x->mine_addr + x->off->thread.prev, 0);
		host_sample(x->fake, SELF, NULL, &x->result);
		assert_int_equal(x->result.reason, REASON_THREAD_TORN);
		assert_int_equal(x->fake->reads, 8);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_state_that_did_not_change_is_valid_in_two_reads),
		cmocka_unit_test(nothing_remembered_is_not_valid),
		cmocka_unit_test(another_threads_state_is_not_valid),
		cmocka_unit_test(a_state_of_another_interpreter_is_not_valid),
		cmocka_unit_test(a_state_that_is_not_the_active_one_is_not_valid),
		cmocka_unit_test(a_freed_state_is_not_valid),
		cmocka_unit_test(a_freed_state_and_a_freed_neighbour_are_not_valid),
		cmocka_unit_test(reused_memory_that_looks_right_but_is_in_no_list_is_not_valid),
		cmocka_unit_test(a_state_whose_neighbour_went_stays_valid),
		cmocka_unit_test(a_fault_makes_it_invalid_and_the_lists_are_searched),
		cmocka_unit_test(an_interrupt_remembers_the_state_that_it_found),
		cmocka_unit_test(an_interrupt_forgets_a_state_that_has_gone),
		cmocka_unit_test(a_state_that_is_not_bound_is_used_but_not_remembered),
		cmocka_unit_test(one_torn_or_faulting_search_is_tried_again),
	};

	return cmocka_run_group_tests_name("bpf/python/thread.h: cache", tests, setup, teardown);
}
