/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_fake_tasks.h - asyncio tasks made of bytes in a fake interpreter: coroutines, futures,
 * sets of awaiters.
 */
#ifndef KRAIT_TESTS_SUPPORT_FAKE_TASKS_H
#define KRAIT_TESTS_SUPPORT_FAKE_TASKS_H

#include "support_fake_interpreter.h"
#include "python/layout/published.h"
#include "python/layout/task_layout.h"
#include "python/walk/task_walk.h"

#define IFRAME 72
#define STATE 67
#define GEN_SIZE 240
#define TASK_SIZE 168
#define AWAITED_BY 96
#define IS_TASK 108
#define IS_SET 109
#define CORO 128

extern const struct published_asyncio fake_asyncio;

struct fake_tasks {
	struct fake *f;
	struct task_layout layout;
	struct task_walk_result result;
	__u64 coroutine_type, future_type, wrapper_type;
	bool names;
};

/* The versions 3.14 and 3.15. */
#define for_each_new(v) for (int v = 1; v < FAKE_VERSION_CNT; v++)

/* f must be 3.14 or 3.15. */
void fake_tasks_begin(struct fake_tasks *x, struct fake *f);
/* Makes a coroutine in that state that awaits the object; instr_off identifies it. */
__u64 fake_coroutine(struct fake_tasks *x, int state, __u64 awaited, __u32 instr_off);
__u64 fake_suspended(struct fake_tasks *x, __u64 awaited, __u32 instr_off);
__u64 fake_future(struct fake_tasks *x);
__u64 fake_wrapper(struct fake_tasks *x, __u64 of);
__u64 fake_task(struct fake_tasks *x, __u64 coro, __u64 awaited_by);
/* size: of the table; tasks are in its last entries, after removed ones. */
__u64 fake_task_set(struct fake_tasks *x, __u32 size, const __u64 *tasks, __u32 cnt);
void fake_await_set(struct fake_tasks *x, __u64 task_addr, __u64 set_addr);
/*
 * Makes tasks and coroutines whose words are addresses of others and of nothing. Returns one of
 * them.
 */
__u64 fake_tasks_garbage(struct fake_tasks *x, __u64 seed);

#endif /* KRAIT_TESTS_SUPPORT_FAKE_TASKS_H */
