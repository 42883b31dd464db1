/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_thread_old.c - bpf/python/thread.h on the layouts of 3.8 to 3.12 (user/python/layout/py_builtin_offsets.c): thread states
 * without status bits.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "support_walk_old.h"

static void search_now(struct old_fake *x, __u64 thread_ptr)
{
	fake_heal(x->fake);
	host_search(x->fake, thread_ptr, &x->result);
}

static void assert_found(struct old_fake *x, __u64 tstate_addr)
{
	search_now(x, SELF);
	assert_int_equal(x->result.reason, REASON_PYTHON);
	assert_int_equal(x->result.tstate_addr, tstate_addr);
	assert_int_equal(x->result.interp_addr,
			 fake_get(x->fake, tstate_addr + OFF(x)->thread.interp));
}

static void hold_gil(struct old_fake *x, __u64 tstate_addr)
{
	fake_put(x->fake, x->fake->runtime_addr + OFF(x)->runtime.tstate_current, tstate_addr);
}

static void a_thread_that_holds_the_gil_needs_no_search(void **state)
{
	struct old_fake *x = *state;

	for (unsigned minor = 8; minor <= 11; minor++) {
		old_begin(x, minor);
		for (int i = 0; i < 50; i++)
			old_thread(x, x->interp_addr, OTHER);
		hold_gil(x, x->tstate_addr);
		assert_found(x, x->tstate_addr);
		assert_true(x->fake->reads <= 2);
	}
}

static void without_the_gil_the_list_is_searched(void **state)
{
	struct old_fake *x = *state;

	for_each_old(minor)
	{
		__u64 other_addr;

		old_begin(x, minor);
		other_addr = old_thread(x, x->interp_addr, OTHER);
		if (minor < 12)
			hold_gil(x, other_addr);
		assert_found(x, x->tstate_addr);
		search_now(x, 0x9000);
		assert_int_equal(x->result.reason, REASON_NATIVE_THREAD);
	}
}

/* The memory there may contain anything, or a state that was just freed. */
static void a_wild_current_state_is_not_believed(void **state)
{
	static const __u64 wild[] = { 1, 0xffff800000000000, 0x7f5500000001, 0x7f5500003000 };
	struct old_fake *x = *state;

	for (unsigned i = 0; i < sizeof(wild) / sizeof(wild[0]); i++) {
		old_begin(x, 9);
		hold_gil(x, wild[i]);
		assert_found(x, x->tstate_addr);
	}
}

static void of_several_states_the_newest_with_a_frame_is_meant(void **state)
{
	struct old_fake *x = *state;

	for (unsigned minor = 8; minor <= 11; minor++) {
		__u64 newer_addr, newest_addr;

		old_begin(x, minor);
		newer_addr = old_thread(x, fake_interp(x->fake), SELF);
		newest_addr = old_thread(x, fake_interp(x->fake), SELF);
		old_call(x, true, 0);
		assert_found(x, x->tstate_addr);
		x->tstate_addr = newer_addr;
		x->cframe_addr = 0;
		if (minor == 11)
			x->cframe_addr = fake_get(x->fake, newer_addr + OFF(x)->thread.cframe);
		old_call(x, true, 0);
		assert_found(x, newer_addr);
		hold_gil(x, newest_addr);
		assert_found(x, newest_addr);
	}
}

static void what_is_remembered_holds_while_there_is_one_interpreter(void **state)
{
	struct old_fake *x = *state;

	for (unsigned minor = 8; minor <= 11; minor++) {
		old_begin(x, minor);
		assert_false(host_still_valid(x->fake, SELF, x->tstate_addr, x->interp_addr));
		old_call(x, true, 0);
		assert_true(host_still_valid(x->fake, SELF, x->tstate_addr, x->interp_addr));
		assert_false(host_still_valid(x->fake, OTHER, x->tstate_addr, x->interp_addr));
		fake_interp(x->fake);
		assert_false(host_still_valid(x->fake, SELF, x->tstate_addr, x->interp_addr));
		hold_gil(x, x->tstate_addr);
		assert_true(host_still_valid(x->fake, SELF, x->tstate_addr, x->interp_addr));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_that_holds_the_gil_needs_no_search),
		cmocka_unit_test(without_the_gil_the_list_is_searched),
		cmocka_unit_test(a_wild_current_state_is_not_believed),
		cmocka_unit_test(of_several_states_the_newest_with_a_frame_is_meant),
		cmocka_unit_test(what_is_remembered_holds_while_there_is_one_interpreter),
	};

	return cmocka_run_group_tests_name("bpf/python/thread.h: 3.8 to 3.12", tests, old_setup,
					   old_teardown);
}
