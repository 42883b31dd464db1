/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_turns.c - the ring's reader wakes up often if somebody waits for records, and rarely if
 * nobody does.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernel/sampler/queue.h"
#include "kernel/sampler/ring.h"
#include "kernel/sampler/turns.h"

static const struct ring_moved samples = { .bytes = 1000 };
static const struct ring_moved deep = { .bytes = 1000, .deep = true };
static const struct ring_moved noted = { .bytes = 1000, .deep = true, .noted = true };
static const struct ring_moved news = { .bytes = 1000, .news = true };
static const struct ring_moved newcomer = { .bytes = 1000, .newcomer = true };
static const struct ring_moved many = { .bytes = QUEUE_CHUNK };

/* Runs that many complete turns. Returns the last one's length. */
static __u64 turns_with(struct turns *t, const struct ring_moved *m, unsigned cnt, __u64 *now_ns)
{
	__u64 ns = 0;

	while (cnt--) {
		ns = turns_next_ns(t, m, *now_ns);
		*now_ns += ns;
	}
	return ns;
}

static void turns_grow_while_nothing_is_new(void **state)
{
	struct turns t = { 0 };
	__u64 now_ns = NS_PER_MS;

	assert_int_equal(turns_with(&t, &samples, 1, &now_ns), TURN_NS);
	assert_int_equal(turns_with(&t, &samples, 2, &now_ns), QUIET_TURN_NS);
	assert_int_equal(turns_with(&t, &samples, 9, &now_ns), QUIET_TURN_NS);
	assert_int_equal(turns_with(&t, &news, 1, &now_ns), TURN_NS);
	assert_int_equal(turns_with(&t, &samples, 2, &now_ns), QUIET_TURN_NS);
	assert_int_equal(turns_with(&t, &many, 1, &now_ns), TURN_NS);
}

static void a_new_thread_is_looked_at_soon(void **state)
{
	struct turns t = { 0 };
	__u64 now_ns = NS_PER_MS;

	turns_with(&t, &samples, 9, &now_ns);
	assert_int_equal(turns_with(&t, &newcomer, 1, &now_ns), SHORT_TURN_NS);
	assert_int_equal(turns_with(&t, &samples, 1, &now_ns), SHORT_TURN_NS);
	now_ns += SHORT_TURNS_NS;
	assert_true(turns_with(&t, &samples, 1, &now_ns) > SHORT_TURN_NS);
}

static void stacks_that_are_worth_no_anchor_may_wait(void **state)
{
	struct turns t = { 0 };
	__u64 now_ns = NS_PER_MS;

	turns_with(&t, &samples, 9, &now_ns);
	assert_int_equal(turns_with(&t, &deep, VAIN_TURNS, &now_ns), TURN_NS);
	assert_int_equal(turns_with(&t, &deep, 3, &now_ns), QUIET_TURN_NS);
	/* One was written after all. */
	assert_int_equal(turns_with(&t, &noted, 1, &now_ns), TURN_NS);
	assert_int_equal(turns_with(&t, &deep, VAIN_TURNS, &now_ns), TURN_NS);
	assert_int_equal(turns_with(&t, &deep, 3, &now_ns), QUIET_TURN_NS);
	turns_with(&t, &newcomer, 1, &now_ns);
	now_ns += SHORT_TURNS_NS;
	assert_int_equal(turns_with(&t, &deep, VAIN_TURNS, &now_ns), TURN_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns_grow_while_nothing_is_new),
		cmocka_unit_test(a_new_thread_is_looked_at_soon),
		cmocka_unit_test(stacks_that_are_worth_no_anchor_may_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
