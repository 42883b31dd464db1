/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_abi.c - guarantees of bpf/abi.h beyond its own assertions.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <linux/types.h>
#include <cmocka.h>

/* Implicit padding is a compile-time error here. */
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"
#include "bpf/abi.h"
#pragma GCC diagnostic pop

#include "bpf/read.h"

static bool power_of_two(__u64 n)
{
	return n && !(n & (n - 1));
}

static void records_are_made_of_whole_words(void **state)
{
	/* The ring buffer aligns records to 8; frames follow the header without a gap. */
	assert_int_equal(sizeof(struct record_sample) % 8, 0);
	assert_int_equal(sizeof(struct record_task) % 8, 0);
	assert_int_equal(sizeof(struct frame) % 8, 0);
	assert_int_equal(offsetof(struct record_sample, type), offsetof(struct record_task, type));
	assert_int_equal(offsetof(struct record_sample, size), offsetof(struct record_task, size));
}

static void limits_that_serve_as_masks_are_powers_of_two(void **state)
{
	assert_true(power_of_two(KRAIT_MAX_FRAMES));
	assert_true(power_of_two(KRAIT_THREAD_WINDOW));
	assert_true(power_of_two(FRAME_WINDOW_MASK + 1));
	assert_true(power_of_two(CODE_WINDOW_MASK + 1));
	assert_true(FRAME_WINDOW_MASK + 1 >= KRAIT_FRAME_WINDOW);
	assert_true(CODE_WINDOW_MASK + 1 >= KRAIT_CODE_WINDOW);
}

static void a_reason_says_its_outcome(void **state)
{
	assert_int_equal(REASON_PYTHON, 0);
	assert_int_equal(reason_outcome(REASON_PYTHON), OUTCOME_COMPLETE);
	assert_int_equal(reason_outcome(REASON_COMPLETE_END - 1), OUTCOME_COMPLETE);
	assert_int_equal(reason_outcome(REASON_DEPTH), OUTCOME_TRUNCATED);
	assert_int_equal(reason_outcome(REASON_TRUNCATED_END - 1), OUTCOME_TRUNCATED);
	assert_int_equal(reason_outcome(REASON_RUNTIME_FAULT), OUTCOME_LOST);
	assert_int_equal(reason_outcome(REASON_CNT - 1), OUTCOME_LOST);
	assert_true(KRAIT_MAX_EVENTS <= 256); /* record_sample.event */
}

/* A multiple of a tick comes from /proc; any other value is exact. */
static void starts_are_compared_as_exactly_as_they_are_known(void **state)
{
	const __u64 tick = 123456 * KRAIT_NS_PER_TICK;

	assert_true(same_start(tick + 5, tick + 5));
	assert_false(same_start(tick + 5, tick + 6));
	assert_true(same_start(tick + 5, tick));
	assert_true(same_start(tick, tick + KRAIT_NS_PER_TICK - 1));
	assert_false(same_start(tick - 1, tick));
	assert_false(same_start(tick, tick + KRAIT_NS_PER_TICK));
	assert_int_equal(start_order(tick, tick + 7), 0);
	assert_true(start_order(tick + 6, tick + 7) < 0);
	assert_true(start_order(tick + KRAIT_NS_PER_TICK, tick + 7) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_made_of_whole_words),
		cmocka_unit_test(limits_that_serve_as_masks_are_powers_of_two),
		cmocka_unit_test(a_reason_says_its_outcome),
		cmocka_unit_test(starts_are_compared_as_exactly_as_they_are_known),
	};

	return cmocka_run_group_tests_name("bpf/abi.h", tests, NULL, NULL);
}
