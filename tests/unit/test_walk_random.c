/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_walk_random.c - whole interrupts over random interpreters: the truth if the memory is
 * intact, and a bounded number of reads if it is damaged, partly present, or changing.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support_fake_random.h"
#include "support_walker.h"

#define SELF 0x7f55aa001740ULL
#define ROUNDS 1500

struct fixture {
	struct rng rng;
	struct fake *fake;
	struct fake_stack mine;
	struct stack_walk_result result;
};

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	if (!x)
		return -1;
	x->rng = rng_from_environment();
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void begin(struct fixture *x)
{
	x->fake = fake_new(&fake_versions[rng_below(&x->rng, FAKE_VERSION_CNT)], 0x7f6600000000,
			   16 << 20);
	fake_random(x->fake, &x->rng, SELF, &x->mine);
}

static void assert_truth(struct fixture *x)
{
	if (x->mine.tstate_addr) {
		assert_walk(&x->result, &x->mine, REASON_PYTHON, x->mine.cnt);
		assert_int_equal(x->result.tstate_addr, x->mine.tstate_addr);
		assert_int_equal(x->result.interp_addr,
				 fake_get(x->fake,
					  x->mine.tstate_addr + x->fake->offsets.thread.interp));
	} else {
		assert_int_equal(x->result.reason, REASON_NATIVE_THREAD);
	}
}

static void an_interrupt_finds_the_truth_in_whole_memory(void **state)
{
	struct fixture *x = *state;

	for (int i = 0; i < ROUNDS; i++) {
		struct thread_slot slot = { 0 };

		begin(x);
		for (int again = 0; again < 2; again++) {
			host_sample(x->fake, SELF, &slot, &x->result);
			assert_truth(x);
		}
		fake_free(x->fake);
	}
}

/* The second attempt may find what the first one could not. */
static void a_fault_at_any_read_never_makes_up_a_stack(void **state)
{
	struct fixture *x = *state;

	for (int i = 0; i < ROUNDS; i++) {
		begin(x);
		host_sample(x->fake, SELF, NULL, &x->result);
		x->fake->fail_at = 1 + rng_below(&x->rng, x->fake->reads);
		host_sample(x->fake, SELF, NULL, &x->result);
		if (x->result.reason <= REASON_NATIVE_THREAD)
			assert_truth(x);
		else if (x->result.reason == REASON_FRAME_FAULT)
			assert_walk(&x->result, &x->mine, REASON_FRAME_FAULT, x->result.frame_cnt);
		else
			assert_true(x->result.reason == REASON_RUNTIME_FAULT ||
				    x->result.reason == REASON_THREAD_FAULT);
		fake_free(x->fake);
	}
}

static void damaged_memory_costs_a_bounded_number_of_reads(void **state)
{
	struct fixture *x = *state;
	bool seen[REASON_CNT] = { false };

	for (int i = 0; i < ROUNDS; i++) {
		struct thread_slot slot = { 0 };

		begin(x);
		for (int again = 0; again < 8; again++) {
			fake_heal(x->fake);
			host_sample(x->fake, SELF, &slot, &x->result);
			assert_true(x->fake->reads <= SAMPLE_MAX_READS);
			seen[x->result.reason] = true;
			fake_mutate(x->fake, &x->rng, 1 + rng_below(&x->rng, 40));
		}
		fake_free(x->fake);
	}
	/* Every kind of damage must have occurred, or the test proves little. */
	assert_true(seen[REASON_NO_BASE]);
	assert_true(seen[REASON_FRAME_FAULT]);
	assert_true(seen[REASON_THREAD_TORN]);
	assert_true(seen[REASON_THREAD_FAULT]);
	assert_true(seen[REASON_BAD_FRAME]);
	assert_true(seen[REASON_CYCLE]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interrupt_finds_the_truth_in_whole_memory),
		cmocka_unit_test(a_fault_at_any_read_never_makes_up_a_stack),
		cmocka_unit_test(damaged_memory_costs_a_bounded_number_of_reads),
	};

	return cmocka_run_group_tests_name("walk: random", tests, setup, teardown);
}
