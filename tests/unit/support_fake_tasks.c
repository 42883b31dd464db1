/* SPDX-License-Identifier: BSD-2-Clause */
#include "support_fake_tasks.h"

#include <stdlib.h>

const struct published_asyncio fake_asyncio = {
	.task_size = TASK_SIZE,
	.task_name = 136,
	.task_awaited_by = AWAITED_BY,
	.task_is_task = IS_TASK,
	.task_awaited_by_is_set = IS_SET,
	.task_coro = CORO,
	.task_node = 152,
	.interp_size = 225864,
	.interp_tasks_head = 10880,
	.thread_size = 936,
	.thread_running_loop = 864,
	.thread_running_task = 872,
	.thread_tasks_head = 880,
};

void fake_tasks_begin(struct fake_tasks *x, struct fake *f)
{
	x->f = f;
	f->offsets.object.ob_type = 8;
	if (task_layout_of(&x->layout, &f->offsets, &fake_asyncio, 1))
		abort();
	x->coroutine_type = fake_alloc(f, 64);
	x->future_type = fake_alloc(f, 64);
	x->wrapper_type = fake_alloc(f, 64);
}

__u64 fake_coroutine(struct fake_tasks *x, int state, __u64 awaited, __u32 instr_off)
{
	__u64 addr = fake_alloc(x->f, GEN_SIZE), code_addr = fake_code(x->f), frame = addr + IFRAME;
	__u64 stack = frame + 120;

	fake_put(x->f, addr + 8, x->coroutine_type);
	fake_put_u8(x->f, addr + STATE, (__u8)state);
	fake_put(x->f, frame + x->f->offsets.frame.executable, code_addr | 1);
	fake_put(x->f, frame + x->f->offsets.frame.instr_ptr,
		 code_addr + x->f->offsets.code.code_adaptive + instr_off);
	fake_put_u8(x->f, frame + x->f->offsets.frame.owner, FAKE_GENERATOR);
	fake_put(x->f, frame + 64, stack);
	fake_put(x->f, stack - x->layout.yield_depth, awaited);
	if (x->layout.yield_depth > 8)
		fake_put(x->f, stack - 8, 1);
	return addr;
}

__u64 fake_suspended(struct fake_tasks *x, __u64 awaited, __u32 instr_off)
{
	return fake_coroutine(x, x->layout.state_yield_from, awaited, instr_off);
}

__u64 fake_future(struct fake_tasks *x)
{
	__u64 addr = fake_alloc(x->f, 32), inner = fake_alloc(x->f, GEN_SIZE);

	fake_put(x->f, addr + 8, x->future_type);
	fake_put(x->f, addr + 16, inner);
	return addr;
}

__u64 fake_wrapper(struct fake_tasks *x, __u64 of)
{
	__u64 addr = fake_alloc(x->f, 48);

	fake_put(x->f, addr + 8, x->wrapper_type);
	fake_put(x->f, addr + 16, of);
	return addr;
}

__u64 fake_task(struct fake_tasks *x, __u64 coro, __u64 awaited_by)
{
	__u64 addr = fake_alloc(x->f, TASK_SIZE);

	fake_put(x->f, addr + CORO, coro);
	fake_put(x->f, addr + AWAITED_BY, awaited_by);
	fake_put_u8(x->f, addr + IS_TASK, 1);
	return addr;
}

__u64 fake_task_set(struct fake_tasks *x, __u32 size, const __u64 *tasks, __u32 cnt)
{
	__u64 addr = fake_alloc(x->f, 200), table = fake_alloc(x->f, 16 * size);

	fake_put(x->f, addr + 24, cnt);
	fake_put(x->f, addr + 32, size - 1);
	fake_put(x->f, addr + 40, table);
	for (__u32 i = 0; i < size; i++) {
		bool used = i >= size - cnt;

		fake_put(x->f, table + 16 * i, used ? tasks[i - (size - cnt)] : i % 2 ? table : 0);
		fake_put(x->f, table + 16 * i + 8, used ? 77 + i : ~0ULL);
	}
	return addr;
}

void fake_await_set(struct fake_tasks *x, __u64 task_addr, __u64 set_addr)
{
	fake_put(x->f, task_addr + AWAITED_BY, set_addr);
	fake_put_u8(x->f, task_addr + IS_SET, 1);
}

__u64 fake_tasks_garbage(struct fake_tasks *x, __u64 seed)
{
	__u64 addrs[64];

	seed = seed * 0x9e3779b97f4a7c15ULL | 1;
	for (int i = 0; i < 64; i++)
		addrs[i] = i % 2 ? fake_suspended(x, 0, 2) : fake_task(x, 0, 0);
	for (int i = 0; i < 400; i++) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		fake_put(x->f, addrs[seed >> 26 & 63] + 8 * (seed >> 40 & 15),
			 addrs[seed >> 32 & 63]);
		fake_put(x->f, addrs[seed >> 27 & 62] + CORO, addrs[(seed >> 33 & 63) | 1]);
		fake_put(x->f, addrs[seed >> 29 & 62] + AWAITED_BY, addrs[seed >> 35 & 62]);
		fake_put(x->f, addrs[(seed >> 31 & 63) | 1] + IFRAME + 120 - x->layout.yield_depth,
			 addrs[(seed >> 36 & 63) | 1]);
	}
	return addrs[0];
}
