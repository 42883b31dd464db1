/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_thread_broken.c - bpf/python/thread.h: lists that are torn, circular, endless or not present.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support_search.h"

/* The list between two stores of another thread. */
static void a_wrong_back_link_is_torn(void **state)
{
	struct search_fixture *x = *state;

	for_each_version(v)
	{
		const struct py_offsets *off;
		__u64 states[5], interp_addr;

		search_fixture_begin(x, v);
		off = &x->fake->offsets;
		interp_addr = fake_interp(x->fake);
		states[4] = fake_thread(x->fake, interp_addr, SELF, FAKE_STATUS_BOUND);
		for (int i = 3; i >= 0; i--)
			states[i] = fake_thread(x->fake, interp_addr, OTHER(i), FAKE_STATUS_BOUND);
		for (int i = 0; i < 5; i++) {
			__u64 prev_addr = fake_get(x->fake, states[i] + off->thread.prev);

			fake_put(x->fake, states[i] + off->thread.prev, states[(i + 2) % 5]);
			assert_reason(x, REASON_THREAD_TORN);
			fake_put(x->fake, states[i] + off->thread.prev, prev_addr);
			fake_put(x->fake, states[i] + off->thread.interp, interp_addr + 16);
			assert_reason(x, REASON_THREAD_TORN);
			fake_put(x->fake, states[i] + off->thread.interp, interp_addr);
		}
		assert_found(x, states[4], interp_addr);
	}
}

static void a_circle_in_a_thread_list_is_torn(void **state)
{
	struct search_fixture *x = *state;

	for_each_version(v)
	{
		for (int to = 0; to < 6; to++) {
			__u64 states[6], interp_addr;

			search_fixture_begin(x, v);
			interp_addr = fake_interp(x->fake);
			for (int i = 5; i >= 0; i--)
				states[i] = fake_thread(x->fake, interp_addr, OTHER(i), 0);
			fake_put(x->fake, states[5] + x->fake->offsets.thread.next, states[to]);
			assert_reason(x, REASON_THREAD_TORN);
		}
	}
}

static void a_circle_of_interpreters_ends_at_the_limit(void **state)
{
	struct search_fixture *x = *state;

	for_each_version(v)
	{
		__u64 last_addr;

		search_fixture_begin(x, v);
		last_addr = add_others(x, fake_interp(x->fake), 2);
		fake_put(x->fake, last_addr + x->fake->offsets.interp.next,
			 add_others(x, fake_interp(x->fake), v));
		assert_reason(x, REASON_THREAD_LIMIT);
	}
}

static void a_list_up_to_the_limit_is_searched(void **state)
{
	struct search_fixture *x = *state;
	__u64 interp_addr, tstate_addr;

	search_fixture_begin(x, 0);
	interp_addr = fake_interp(x->fake);
	tstate_addr = fake_thread(x->fake, interp_addr, SELF, FAKE_STATUS_BOUND);
	add_others(x, interp_addr, KRAIT_MAX_THREADS - 1);
	assert_found(x, tstate_addr, interp_addr);
	fake_thread(x->fake, interp_addr, OTHER(0), FAKE_STATUS_BOUND);
	assert_reason(x, REASON_THREAD_LIMIT);
}

static void a_misaligned_link_is_not_followed(void **state)
{
	struct search_fixture *x = *state;

	for_each_version(v)
	{
		search_fixture_begin(x, v);
		fake_put(x->fake,
			 add_others(x, fake_interp(x->fake), 3) +
				 x->fake->offsets.interp.threads_head,
			 x->fake->addr + 4);
		assert_reason(x, REASON_THREAD_FAULT);
	}
}

/* Three interpreters with three threads each; SELF is only in the last, bound or not. */
static void a_fault_at_any_read_is_a_fault(void **state)
{
	struct search_fixture *x = *state;

	for (int v = 0; v < 2 * FAKE_VERSION_CNT; v++) {
		unsigned long reads;

		search_fixture_begin(x, v / 2);
		fake_thread(x->fake, fake_interp(x->fake), SELF,
			    v % 2 ? FAKE_STATUS_BOUND : FAKE_STATUS_IDLE);
		for (int i = 0; i < 2; i++)
			add_others(x, fake_interp(x->fake), 3);
		assert_reason(x, REASON_PYTHON);
		reads = x->fake->reads;
		for (unsigned long n = 1; n <= reads; n++) {
			fake_heal(x->fake);
			x->fake->fail_at = n;
			host_search(x->fake, SELF, &x->result);
			assert_true(x->result.reason == REASON_RUNTIME_FAULT ||
				    x->result.reason == REASON_THREAD_FAULT);
			assert_int_equal(x->fake->reads, n);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wrong_back_link_is_torn),
		cmocka_unit_test(a_circle_in_a_thread_list_is_torn),
		cmocka_unit_test(a_circle_of_interpreters_ends_at_the_limit),
		cmocka_unit_test(a_list_up_to_the_limit_is_searched),
		cmocka_unit_test(a_misaligned_link_is_not_followed),
		cmocka_unit_test(a_fault_at_any_read_is_a_fault),
	};

	return cmocka_run_group_tests_name("bpf/python/thread.h: broken lists", tests,
					   search_fixture_new, search_fixture_free);
}
