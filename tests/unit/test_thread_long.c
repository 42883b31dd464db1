/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_thread_long.c - bpf/python/thread.h: lists of thousands of thread states are searched in parts, one
 * per interrupt, with the same result as one long search.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support_search.h"

#include "bpf/read.h"
#include "bpf/python/thread.h"

/* Three parts for a process that has used up its budget. */
#define MANY (2 * KRAIT_SEARCH_PART + 100)

struct fixture {
	struct search_fixture search;
	struct thread_slot slot;
	__u64 interp_addr, mine_addr;
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	if (x->search.fake)
		fake_free(x->search.fake);
	free(x);
	return 0;
}

/* Many states, followed by this thread's if it has one. */
static void begin(struct fixture *x, int version, bool has_state)
{
	search_fixture_begin(&x->search, version);
	x->slot = (struct thread_slot){ 0 };
	x->search.fake->search_part = KRAIT_SEARCH_PART;
	x->interp_addr = fake_interp(x->search.fake);
	x->mine_addr =
		has_state ? fake_thread(x->search.fake, x->interp_addr, SELF, FAKE_STATUS_BOUND) :
			    0;
	add_others(&x->search, x->interp_addr, MANY);
}

/* One interrupt; never more reads than a part and its surroundings need. */
static __u32 interrupt(struct fixture *x)
{
	fake_heal(x->search.fake);
	host_sample(x->search.fake, SELF, &x->slot, &x->search.result);
	assert_true(x->search.fake->reads <= KRAIT_SEARCH_PART + 100);
	return x->search.result.reason;
}

static void the_last_of_many_is_found_at_the_third_sample(void **state)
{
	struct fixture *x = *state;

	for_each_version(v)
	{
		begin(x, v, true);
		/* Idle, so before 3.12 it is a candidate. */
		assert_int_equal(interrupt(x), REASON_THREAD_LIMIT);
		assert_int_equal(interrupt(x), REASON_THREAD_LIMIT);
		assert_int_not_equal(interrupt(x), REASON_THREAD_LIMIT);
		assert_int_equal(x->search.result.tstate_addr, x->mine_addr);
	}
}

static void without_a_slot_it_is_not_found(void **state)
{
	struct fixture *x = *state;

	begin(x, 0, true);
	for (int i = 0; i < 4; i++) {
		host_sample(x->search.fake, SELF, NULL, &x->search.result);
		assert_int_equal(x->search.result.reason, REASON_THREAD_LIMIT);
	}
}

static void a_thread_of_c_is_known_as_one_from_the_third_sample_on(void **state)
{
	struct fixture *x = *state;

	for_each_version(v)
	{
		begin(x, v, false);
		assert_int_equal(interrupt(x), REASON_THREAD_LIMIT);
		assert_int_equal(interrupt(x), REASON_THREAD_LIMIT);
		assert_int_equal(interrupt(x), REASON_NATIVE_THREAD);
		for (int i = 0; i < 5; i++) {
			assert_int_equal(interrupt(x), REASON_NATIVE_THREAD);
			assert_true(x->search.fake->reads <= 7);
		}
	}
}

/* New states are at the head: this thread's is found at once, another thread's costs a search. */
static void what_a_thread_of_c_gets_is_found(void **state)
{
	struct fixture *x = *state;

	for_each_version(v)
	{
		__u64 other_addr;

		begin(x, v, false);
		for (int i = 0; i < 4; i++)
			interrupt(x);
		assert_int_equal(x->search.result.reason, REASON_NATIVE_THREAD);
		other_addr = fake_thread(x->search.fake, x->interp_addr, OTHER(MANY + 1),
					 FAKE_STATUS_BOUND);
		assert_int_equal(interrupt(x), REASON_THREAD_LIMIT);
		fake_unlink_thread(x->search.fake, other_addr);
		/* Two parts without a result, then three more. */
		for (int i = 0; i < 6; i++)
			interrupt(x);
		assert_int_equal(x->search.result.reason, REASON_NATIVE_THREAD);
		x->mine_addr = fake_thread(x->search.fake, x->interp_addr, SELF, FAKE_STATUS_BOUND);
		while (interrupt(x) == REASON_THREAD_LIMIT)
			;
		assert_int_equal(x->search.result.tstate_addr, x->mine_addr);
	}
}

/* It got its state after the search had passed that place: "none" would be wrong. */
static void a_state_that_comes_during_the_search_is_not_missed(void **state)
{
	struct fixture *x = *state;

	for_each_version(v)
	{
		begin(x, v, false);
		interrupt(x);
		x->mine_addr = fake_thread(x->search.fake, x->interp_addr, SELF, FAKE_STATUS_BOUND);
		for (int i = 0; i < 8 && x->search.result.tstate_addr != x->mine_addr; i++)
			assert_int_not_equal(interrupt(x), REASON_NATIVE_THREAD);
		assert_int_equal(x->search.result.tstate_addr, x->mine_addr);
	}
}

/* Under an emulator its number tells, in whichever part it was. */
static void a_state_with_the_threads_number_is_not_forgotten_between_parts(void **state)
{
	struct fixture *x = *state;

	for_each_version(v)
	{
		struct fake *f;

		begin(x, v, false);
		f = x->search.fake;
		x->mine_addr = fake_thread(f, x->interp_addr, OTHER(MANY + 1), FAKE_STATUS_BOUND);
		fake_put(f, x->mine_addr + f->offsets.thread.native_thread_id, 4321);
		f->number = 4321;
		for (int i = 0; i < 3; i++)
			interrupt(x);
		assert_int_equal(x->search.result.tstate_addr, x->mine_addr);
	}
}

/* It was sampled before its state, already in the list, was its own. */
static void a_state_at_the_head_that_becomes_the_threads_is_found_by_number(void **state)
{
	struct fixture *x = *state;

	for_each_version(v)
	{
		struct fake *f;

		begin(x, v, false);
		f = x->search.fake;
		f->number = 4321;
		x->mine_addr = fake_thread(f, x->interp_addr, OTHER(MANY + 1), FAKE_STATUS_IDLE);
		for (int i = 0; i < 3; i++)
			interrupt(x);
		assert_int_equal(x->search.result.reason, REASON_NATIVE_THREAD);
		fake_put(f, x->mine_addr + f->offsets.thread.native_thread_id, 4321);
		for (int i = 0; i < 3; i++)
			interrupt(x);
		assert_int_equal(x->search.result.tstate_addr, x->mine_addr);
	}
}

/*
 * Before 3.12 this is a candidate instead of a thread's own state, and several parts carry it
 * along.
 */
static void where_the_search_stopped_may_be_gone(void **state)
{
	struct fixture *x = *state;

	for_each_version(v)
	{
		begin(x, v, true);
		assert_int_equal(interrupt(x), REASON_THREAD_LIMIT);
		fake_unlink_thread(x->search.fake, x->slot.resume_addr);
		for (int i = 0; i < 8 && x->search.result.tstate_addr != x->mine_addr; i++)
			assert_int_not_equal(interrupt(x), REASON_NATIVE_THREAD);
		assert_int_equal(x->search.result.tstate_addr, x->mine_addr);
	}
}

static void a_circle_of_states_is_searched_in_parts_for_ever(void **state)
{
	struct fixture *x = *state;
	struct fake *f;
	__u64 first_addr, second_addr;

	x->slot = (struct thread_slot){ 0 };
	search_fixture_begin(&x->search, 0);
	f = x->search.fake;
	f->search_part = KRAIT_SEARCH_PART;
	x->interp_addr = fake_interp(f);
	second_addr = fake_thread(f, x->interp_addr, OTHER(0), FAKE_STATUS_BOUND);
	first_addr = fake_thread(f, x->interp_addr, OTHER(1), FAKE_STATUS_BOUND);
	fake_put(f, second_addr + f->offsets.thread.next, first_addr);
	fake_put(f, first_addr + f->offsets.thread.prev, second_addr);
	for (int i = 0; i < 5; i++)
		assert_true(interrupt(x) == REASON_THREAD_LIMIT ||
			    x->search.result.reason == REASON_THREAD_TORN);
}

/* ---- the budget ------------------------------------------------------------------------------- */

static void a_process_that_never_searched_may_search_all(void **state)
{
	struct proc_info proc = { 0 };
	struct thread_search t;

	thread_search_allow(&t, &proc, 1ULL << 40);
	assert_int_equal(t.left, KRAIT_MAX_THREADS);
}

static void what_was_searched_is_paid_for(void **state)
{
	__u64 now_ns = 1ULL << 40, steps = 0, searches = 10000;
	struct proc_info proc = { 0 };
	struct thread_search t;

	/* Every interrupt at 997 Hz searches as far as allowed. */
	for (__u64 i = 0; i < searches; i++) {
		now_ns += 1003009;
		thread_search_allow(&t, &proc, now_ns);
		assert_in_range(t.left, KRAIT_SEARCH_PART, KRAIT_MAX_THREADS);
		t.steps = t.left;
		thread_search_pay(&t, &proc, now_ns);
		steps += t.steps;
	}
	assert_in_range(steps, searches * KRAIT_SEARCH_PART,
			searches * 1100 + KRAIT_SEARCH_BUDGET + KRAIT_MAX_THREADS);
	/* After a rest it may search again. */
	thread_search_allow(&t, &proc, now_ns + 100000000);
	assert_int_equal(t.left, KRAIT_MAX_THREADS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_of_many_is_found_at_the_third_sample),
		cmocka_unit_test(without_a_slot_it_is_not_found),
		cmocka_unit_test(a_thread_of_c_is_known_as_one_from_the_third_sample_on),
		cmocka_unit_test(what_a_thread_of_c_gets_is_found),
		cmocka_unit_test(a_state_that_comes_during_the_search_is_not_missed),
		cmocka_unit_test(a_state_with_the_threads_number_is_not_forgotten_between_parts),
		cmocka_unit_test(a_state_at_the_head_that_becomes_the_threads_is_found_by_number),
		cmocka_unit_test(where_the_search_stopped_may_be_gone),
		cmocka_unit_test(a_process_that_never_searched_may_search_all),
		cmocka_unit_test(what_was_searched_is_paid_for),
		cmocka_unit_test(a_circle_of_states_is_searched_in_parts_for_ever),
	};

	return cmocka_run_group_tests_name("bpf/python/thread.h: long lists", tests, setup,
					   teardown);
}
