/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_task_chains.c - the chain of each task in a list: first awaiters, circles, awaiters outside
 * the list, too little room.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>
#include <cmocka.h>

#include "bpf/abi.h"
#include "record/samples/task_chains.h"
#include "process/probe/probe_tasks.h"

#define A 0x1000
#define B 0x2000
#define C 0x3000
#define D 0x4000

static const struct frame frames[] = {
	{ .code_addr = 0xa1, .instr_off = 2, .fingerprint = 7 },
	{ .code_addr = 0xa2, .instr_off = 4 },
	{ .code_addr = 0xb1, .instr_off = 6 },
};
/* A is awaited by an unknown task and by B, and B by C; C and D await each other. */
static const __u64 waiters[] = { 0x9999, B, C, D, C };
static const struct probe_task tasks[] = {
	{ .addr = C, .first_waiter = 3, .waiter_cnt = 1 },
	{ .addr = A, .first_frame = 0, .frame_cnt = 2, .first_waiter = 0, .waiter_cnt = 2 },
	{ .addr = D, .first_waiter = 4, .waiter_cnt = 1 },
	{ .addr = B,
	  .first_frame = 2,
	  .frame_cnt = 1,
	  .first_waiter = 2,
	  .waiter_cnt = 1,
	  .notes = TASK_NO_COROUTINE },
};
static const struct probe_tasks list = {
	.head = { .task_cnt = 4, .frame_cnt = 3, .waiter_cnt = 5 },
	.tasks = tasks,
	.frames = frames,
	.waiters = waiters,
};

static void assert_task(const struct frame *part, __u64 addr, __s32 waiters_cnt)
{
	assert_int_equal(part->code_addr, 0);
	assert_int_equal(part->frame_addr, addr);
	assert_int_equal(part->instr_off, waiters_cnt);
}

static void chain_to_the_circle(void **state)
{
	struct task_chains *c = task_chains__new(&list);
	struct frame parts[16];

	/* Twice: nothing remains of the first run. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(task_chains__of(c, 1, parts, 16), 8);
		assert_task(&parts[0], A, 2);
		assert_int_equal(parts[1].code_addr, 0xa1);
		assert_int_equal(parts[1].fingerprint, 0);
		assert_int_equal(parts[2].code_addr, 0xa2);
		assert_task(&parts[3], B, 1);
		assert_int_equal(parts[3].fingerprint, TASK_NO_COROUTINE);
		assert_int_equal(parts[4].code_addr, 0xb1);
		assert_task(&parts[5], C, 1);
		assert_task(&parts[6], D, 1);
		assert_task(&parts[7], C, 1);
	}
	task_chains__free(c);
}

/* As parts after the task's, at most three; names that are not ASCII are omitted. */
static void names(void **state)
{
	static const char texts[] =
		"short\0a name of more bytes than three parts have room for!\0\xc3\xa9";
	static const struct probe_task named[] = {
		{ .addr = A, .flags = PROBE_TASK_NAMED, .first_frame = 0, .frame_cnt = 1 },
		{ .addr = B, .flags = PROBE_TASK_NAMED, .name = 6 },
		{ .addr = C, .flags = PROBE_TASK_NAMED, .name = sizeof(texts) - 3 },
	};
	const struct probe_tasks with = {
		.head = { .task_cnt = 3, .frame_cnt = 3, .text_len = sizeof(texts) },
		.tasks = named,
		.frames = frames,
		.texts = texts
	};
	struct task_chains *c = task_chains__new(&with);
	struct frame parts[16];

	assert_int_equal(task_chains__of(c, 0, parts, 16), 3);
	assert_true(task_part_is_name(&parts[1]));
	assert_string_equal((const char *)&parts[1].frame_addr, "short");
	assert_int_equal(parts[2].code_addr, 0xa1);
	assert_int_equal(task_chains__of(c, 1, parts, 16), 4);
	assert_memory_equal(&parts[3].frame_addr, texts + 6 + 32, TASK_NAME_PART);
	assert_int_equal(task_chains__of(c, 2, parts, 16), 1);
	/* If there is not enough room, it ends. */
	assert_int_equal(task_chains__of(c, 0, parts, 2), 2);
	assert_int_equal(parts[0].fingerprint, TASK_FRAMES);
	assert_int_equal(task_chains__of(c, 1, parts, 1), 1);
	task_chains__free(c);
}

static void too_little_room(void **state)
{
	struct task_chains *c = task_chains__new(&list);
	struct frame parts[16] = { { 0 } };

	assert_int_equal(task_chains__of(c, 1, parts, 4), 4);
	assert_task(&parts[3], B, 1);
	assert_int_equal(parts[3].fingerprint, TASK_NO_COROUTINE | TASK_FRAMES | TASK_LIMIT);
	assert_int_equal(task_chains__of(c, 1, parts, 2), 2);
	assert_int_equal(parts[0].fingerprint, TASK_FRAMES | TASK_LIMIT);
	task_chains__free(c);
}

static void none(void **state)
{
	const struct probe_tasks empty = { .head = { 0 } };
	struct task_chains *c = task_chains__new(&empty);

	assert_non_null(c);
	task_chains__free(c);
}

int main(void)
{
	const struct CMUnitTest tests_[] = {
		cmocka_unit_test(chain_to_the_circle),
		cmocka_unit_test(names),
		cmocka_unit_test(too_little_room),
		cmocka_unit_test(none),
	};

	return cmocka_run_group_tests(tests_, NULL, NULL);
}
