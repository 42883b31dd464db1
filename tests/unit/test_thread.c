/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_thread.c - bpf/thread.h: finds this thread's thread state.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support_search.h"

static void a_thread_is_found_anywhere_in_the_list(void **state)
{
	struct search_fixture *x = *state;

	for_each_version(v)
	{
		for (int before = 0; before < 5; before++) {
			__u64 interp_addr, tstate_addr;

			search_fixture_begin(x, v);
			interp_addr = add_others(x, fake_interp(x->fake), before);
			tstate_addr = fake_thread(x->fake, interp_addr, SELF, FAKE_STATUS_BOUND);
			add_others(x, interp_addr, 4 - before);
			assert_found(x, tstate_addr, interp_addr);
		}
	}
}

static void a_thread_is_found_in_any_interpreter(void **state)
{
	struct search_fixture *x = *state;

	for_each_version(v)
	{
		for (int mine = 0; mine < 4; mine++) {
			__u64 mine_addr = 0, tstate_addr = 0;

			search_fixture_begin(x, v);
			for (int i = 0; i < 4; i++) {
				__u64 interp_addr = fake_interp(x->fake);

				if (i != 2) /* one has no threads at all */
					add_others(x, interp_addr, 3);
				if (i != mine)
					continue;
				mine_addr = interp_addr;
				tstate_addr =
					fake_thread(x->fake, interp_addr, SELF, FAKE_STATUS_BOUND);
			}
			assert_found(x, tstate_addr, mine_addr);
		}
	}
}

static void of_several_states_the_one_activated_last_is_meant(void **state)
{
	struct search_fixture *x = *state;

	for_each_version(v)
	{
		for (int bound = 0; bound < 4; bound++) {
			__u64 interps[4], states[4];

			search_fixture_begin(x, v);
			for (int i = 0; i < 4; i++) {
				interps[i] = i == 1 ? interps[0] : fake_interp(x->fake);
				states[i] = fake_thread(x->fake, interps[i], SELF,
							i == bound ? FAKE_STATUS_BOUND :
								     FAKE_STATUS_IDLE);
				add_others(x, interps[i], 2);
			}
			assert_found(x, states[bound], interps[bound]);
		}
	}
}

static void a_state_that_is_not_bound_is_still_the_threads(void **state)
{
	struct search_fixture *x = *state;

	for_each_version(v)
	{
		__u64 interp_addr, tstate_addr;

		search_fixture_begin(x, v);
		add_others(x, fake_interp(x->fake), 2); /* searched after mine */
		interp_addr = add_others(x, fake_interp(x->fake), 2);
		tstate_addr = fake_thread(x->fake, interp_addr, SELF, FAKE_STATUS_IDLE);
		add_others(x, interp_addr, 2);
		add_others(x, fake_interp(x->fake), 2);
		assert_found(x, tstate_addr, interp_addr);
	}
}

static void a_thread_without_a_state_is_native(void **state)
{
	struct search_fixture *x = *state;

	for_each_version(v)
	{
		search_fixture_begin(x, v);
		add_others(x, fake_interp(x->fake), 7);
		assert_reason(x, REASON_NATIVE_THREAD);
		add_others(x, fake_interp(x->fake), 7);
		assert_reason(x, REASON_NATIVE_THREAD);
		fake_interp(x->fake);
		assert_reason(x, REASON_NATIVE_THREAD);
	}
}

static void a_runtime_without_interpreters_is_none(void **state)
{
	struct search_fixture *x = *state;

	for_each_version(v)
	{
		search_fixture_begin(x, v);
		assert_reason(x, REASON_NO_RUNTIME);
		fake_fault(x->fake, x->fake->runtime_addr, 4096);
		host_search(x->fake, SELF, &x->result);
		assert_int_equal(x->result.reason, REASON_RUNTIME_FAULT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_is_found_anywhere_in_the_list),
		cmocka_unit_test(a_thread_is_found_in_any_interpreter),
		cmocka_unit_test(of_several_states_the_one_activated_last_is_meant),
		cmocka_unit_test(a_state_that_is_not_bound_is_still_the_threads),
		cmocka_unit_test(a_thread_without_a_state_is_native),
		cmocka_unit_test(a_runtime_without_interpreters_is_none),
	};

	return cmocka_run_group_tests_name("bpf/thread.h: search", tests, search_fixture_new,
					   search_fixture_free);
}
