/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_thread.c - bpf/python/thread.h: finds this thread's thread state.
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

/* Makes a state of a thread with that number. Its pointer is another's: an emulator's is not known. */
static __u64 add_numbered(struct search_fixture *x, __u64 interp_addr, __u64 thread_ptr,
			  __u64 number, __u32 status)
{
	__u64 tstate_addr = fake_thread(x->fake, interp_addr, thread_ptr, status);

	fake_put(x->fake, tstate_addr + x->fake->offsets.thread.native_thread_id, number);
	return tstate_addr;
}

static void under_an_emulator_its_number_tells(void **state)
{
	struct search_fixture *x = *state;

	for_each_version(v)
	{
		__u64 interp_addr, tstate_addr, by_pointer;

		search_fixture_begin(x, v);
		interp_addr = add_others(x, fake_interp(x->fake), 2);
		tstate_addr = add_numbered(x, interp_addr, OTHER(7), 4321, FAKE_STATUS_BOUND);
		add_numbered(x, interp_addr, OTHER(8), 4321, FAKE_STATUS_IDLE);
		add_numbered(x, interp_addr, OTHER(9), 4322, FAKE_STATUS_BOUND);
		assert_reason(x, REASON_NATIVE_THREAD); /* its number does not count */
		x->fake->number = 4323;
		assert_reason(x, REASON_NATIVE_THREAD);
		x->fake->number = 4321;
		assert_found(x, tstate_addr, interp_addr);
		/* A pointer that is a state's counts more, even of one that is not bound. */
		by_pointer = add_numbered(x, interp_addr, SELF, 5, FAKE_STATUS_IDLE);
		assert_found(x, by_pointer, interp_addr);
	}
}

/* Before 3.11 the C library knows it: in glibc, in musl. */
static void an_old_state_has_its_number_in_the_c_librarys_struct(void **state)
{
	static const struct {
		__u64 self, tid;
	} libraries[] = { { 16, 720 }, { 0, 48 } };
	struct search_fixture *x = *state;

	for (int i = 0; i < 2; i++) {
		__u64 interp_addr, tstate_addr, pthread_addr;

		search_fixture_begin(x, 0);
		x->fake->offsets.thread.native_thread_id = PYOFF_ABSENT;
		pthread_addr = fake_alloc(x->fake, 1024);
		fake_put(x->fake, pthread_addr + libraries[i].self, pthread_addr);
		fake_put_u32(x->fake, pthread_addr + libraries[i].tid, 4321);
		interp_addr = add_others(x, fake_interp(x->fake), 2);
		tstate_addr = fake_thread(x->fake, interp_addr, pthread_addr, FAKE_STATUS_BOUND);
		x->fake->number = 4321;
		assert_found(x, tstate_addr, interp_addr);
		x->fake->number = 4322;
		assert_reason(x, REASON_NATIVE_THREAD);
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
		cmocka_unit_test(under_an_emulator_its_number_tells),
		cmocka_unit_test(an_old_state_has_its_number_in_the_c_librarys_struct),
		cmocka_unit_test(a_state_that_is_not_bound_is_still_the_threads),
		cmocka_unit_test(a_thread_without_a_state_is_native),
		cmocka_unit_test(a_runtime_without_interpreters_is_none),
	};

	return cmocka_run_group_tests_name("bpf/python/thread.h: search", tests, search_fixture_new,
					   search_fixture_free);
}
