/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_interpreters.c - a thread that entered an interpreter from another one has callers there;
 * one that began in it has none; nothing is claimed about unreadable ones.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "record/samples/interpreters.h"
#include "support_fake_interpreter.h"

#define SELF 0x7f0000001000ULL
#define OTHER 0x7f0000002000ULL

/* An older interpreter, in which the thread may or may not be, and a newer one. */
struct pair {
	struct fake *fake;
	__u64 older_addr, newer_addr, tstate_addr;
	struct fake_stack stack;
};

static void make(struct pair *x, int version, __u64 thread_id, bool busy)
{
	x->fake = fake_new(&fake_versions[version], 0x10000000, 1 << 20);
	x->older_addr = fake_interp(x->fake);
	x->tstate_addr = fake_thread(x->fake, x->older_addr, thread_id, FAKE_STATUS_IDLE);
	fake_stack_begin(&x->stack, x->fake, x->tstate_addr);
	if (busy)
		fake_push(&x->stack, FAKE_THREAD, fake_code(x->fake), 0);
	fake_thread(x->fake, x->older_addr, OTHER, FAKE_STATUS_IDLE);
	x->newer_addr = fake_interp(x->fake);
	fake_thread(x->fake, x->newer_addr, SELF, FAKE_STATUS_BOUND);
}

static enum interpreter_kind kind(const struct pair *x, __u64 interp_addr)
{
	return interpreter_kind_of(&x->fake->memory, &x->fake->offsets, interp_addr, SELF);
}

static void one_that_was_entered_has_callers(void **state)
{
	for (int version = 0; version < FAKE_VERSION_CNT; version++) {
		struct pair x;

		make(&x, version, SELF, true);
		assert_int_equal(kind(&x, x.newer_addr), INTERPRETER_ENTERED);
		assert_int_equal(kind(&x, x.older_addr), INTERPRETER_OLDEST);
		fake_free(x.fake);
	}
}

/*
 * As when one interpreter creates another from within: the thread's newest state in the oldest one
 * is idle, but an older state there is not.
 */
static void one_of_its_states_is_enough(void **state)
{
	for (int version = 0; version < FAKE_VERSION_CNT; version++) {
		struct pair x;

		make(&x, version, SELF, true);
		fake_thread(x.fake, x.older_addr, SELF, FAKE_STATUS_IDLE);
		assert_int_equal(kind(&x, x.newer_addr), INTERPRETER_ENTERED);
		fake_free(x.fake);
	}
}

static void a_thread_that_lies_idle_elsewhere_has_none(void **state)
{
	for (int version = 0; version < FAKE_VERSION_CNT; version++) {
		struct pair x;

		make(&x, version, SELF, false);
		assert_int_equal(kind(&x, x.newer_addr), INTERPRETER_BEGUN);
		fake_free(x.fake);
	}
}

static void another_thread_is_no_caller(void **state)
{
	for (int version = 0; version < FAKE_VERSION_CNT; version++) {
		struct pair x;

		make(&x, version, OTHER + 8, true);
		assert_int_equal(kind(&x, x.newer_addr), INTERPRETER_BEGUN);
		fake_free(x.fake);
	}
}

/* Whatever fails, nothing wrong is claimed, and the search ends. */
static void what_cannot_be_read_has_no_callers(void **state)
{
	struct pair x;

	make(&x, 0, SELF, true);
	for (unsigned long n = 1; n < 20; n++) {
		fake_heal(x.fake);
		x.fake->fail_at = n;
		if (kind(&x, x.newer_addr) == INTERPRETER_ENTERED)
			assert_true(x.fake->reads < n);
	}
	/* In particular not that it is the oldest, which would hold for all threads and for ever. */
	fake_heal(x.fake);
	x.fake->fail_at = 1;
	assert_int_equal(kind(&x, x.older_addr), INTERPRETER_BEGUN);
	/* A circular list. */
	fake_heal(x.fake);
	fake_put(x.fake, x.older_addr + (__u64)x.fake->offsets.interp.next, x.older_addr);
	assert_int_equal(interpreter_kind_of(&x.fake->memory, &x.fake->offsets, x.newer_addr, 1),
			 INTERPRETER_BEGUN);
	fake_free(x.fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_was_entered_has_callers),
		cmocka_unit_test(one_of_its_states_is_enough),
		cmocka_unit_test(a_thread_that_lies_idle_elsewhere_has_none),
		cmocka_unit_test(another_thread_is_no_caller),
		cmocka_unit_test(what_cannot_be_read_has_no_callers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
