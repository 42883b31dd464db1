/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_anchoring.c - what is known of threads goes with them, also of those that never got an anchor.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "session/anchoring.h"
#include "session/processes.h"
#include "stack/stacks.h"

#define PROCESS_CNT 100

/* A shallow stack, for which no anchor pays. */
static void sample(struct anchoring *a, pid_t pid, pid_t tid)
{
	static const struct process process; /* all offsets are 0: the field is there */
	struct frame frame = { .code_addr = 0x1000, .frame_addr = 0x2000 };
	struct stack stack = { .frames = &frame, .cnt = 1 };
	struct event_sample event = {
		.pid = (__u32)pid,
		.tid = (__u32)tid,
		.thread_start_ns = 1,
		.frame_cnt = 1,
	};

	anchoring__sample(a, &process, &event, &stack);
}

static void test_process_takes_its_threads_along(void **state)
{
	struct anchoring *a = anchoring__new(ANCHOR_MODE_AUTO, NULL);

	assert_non_null(a);
	for (pid_t pid = 1; pid <= PROCESS_CNT; pid++) {
		sample(a, pid, pid);
		sample(a, pid, PROCESS_CNT + pid);
	}
	assert_int_equal(anchoring__stats(a)->threads, 2 * PROCESS_CNT);
	anchoring__thread_gone(a, PROCESS_CNT + 1);
	assert_int_equal(anchoring__stats(a)->threads, 2 * PROCESS_CNT - 1);
	for (pid_t pid = 1; pid <= PROCESS_CNT; pid++)
		anchoring__process_gone(a, pid);
	assert_int_equal(anchoring__stats(a)->threads, 0);
	anchoring__free(a);
}

static void test_other_processes_end_without_it(void **state)
{
	struct anchoring *a = anchoring__new(ANCHOR_MODE_AUTO, NULL);

	assert_non_null(a);
	sample(a, 1, 7);
	anchoring__process_gone(a, 2);
	assert_int_equal(anchoring__stats(a)->threads, 1);
	sample(a, 1, 7);
	assert_int_equal(anchoring__stats(a)->threads, 1);
	anchoring__free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process_takes_its_threads_along),
		cmocka_unit_test(test_other_processes_end_without_it),
	};

	return cmocka_run_group_tests_name("anchoring", tests, NULL, NULL);
}
