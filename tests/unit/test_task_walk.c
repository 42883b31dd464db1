/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_task_walk.c - bpf/python/asyncio_tasks.h over tasks made of bytes: chains, sets, wrappers, and torn,
 * circular, endless or missing structures. Also: the layout equals the tables that real
 * interpreters publish.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "py_debug_tables.h"
#include "support_fake_tasks.h"
#define CYCLES 3

static void begin(struct fake_tasks *x, int version)
{
	if (x->f)
		fake_free(x->f);
	fake_tasks_begin(x, fake_new(&fake_versions[version], 0x7f0000000000, 4 << 20));
	assert_int_equal(x->layout.running_loop, 864);
}

static int fixture_new(void **state)
{
	*state = calloc(1, sizeof(struct fake_tasks));
	return *state ? 0 : -1;
}

static int fixture_free(void **state)
{
	struct fake_tasks *x = *state;

	if (x->f)
		fake_free(x->f);
	free(x);
	return 0;
}

static void walk_tasks(struct fake_tasks *x, __u64 task_addr)
{
	const struct task_walk_config config = { .memory = &x->f->memory,
						 .offsets = &x->f->offsets,
						 .layout = &x->layout,
						 .names = x->names,
						 .garbage = 0xa5 };

	memset(&x->result, 0x5a, sizeof(x->result));
	task_walk_from(&config, task_addr, &x->result);
	assert_true(x->result.cnt <= KRAIT_MAX_TASK_PARTS);
}

static void assert_task(struct fake_tasks *x, __u32 at, __u64 addr, __u32 waiters, __u32 notes)
{
	const struct frame *part = &x->result.parts[at];

	assert_true(at < x->result.cnt);
	assert_int_equal(part->code_addr, 0);
	assert_int_equal(part->frame_addr, addr);
	assert_int_equal(part->instr_off, waiters);
	assert_int_equal(part->fingerprint, notes);
}

static void assert_frame(struct fake_tasks *x, __u32 at, __u64 coro, __u32 instr_off)
{
	const struct frame *part = &x->result.parts[at];

	assert_true(at < x->result.cnt);
	assert_int_equal(part->frame_addr, coro + IFRAME);
	assert_int_equal(part->code_addr,
			 fake_get(x->f, coro + IFRAME + x->f->offsets.frame.executable) & ~7ULL);
	assert_int_equal(part->instr_off, instr_off);
}

static void a_chain_has_each_task_with_all_its_coroutines(void **state)
{
	struct fake_tasks *x = *state;

	for_each_new(v)
	{
		__u64 coros[4], tasks[2], running;

		begin(x, v);
		coros[0] = fake_suspended(x, fake_future(x), 4);
		coros[1] = fake_suspended(x, coros[0], 6);
		coros[2] = fake_suspended(x, fake_future(x), 8);
		coros[3] = fake_suspended(x, fake_wrapper(x, coros[2]), 10);
		tasks[0] = fake_task(x, coros[1], 0);
		tasks[1] = fake_task(x, coros[3], tasks[0]);
		running =
			fake_task(x, fake_coroutine(x, x->layout.state_executing, 0, 12), tasks[1]);
		walk_tasks(x, running);
		assert_int_equal(x->result.cnt, 8);
		assert_task(x, 0, running, 0, TASK_LIVE);
		assert_task(x, 2, tasks[1], 0, 0);
		assert_frame(x, 3, coros[3], 10);
		assert_frame(x, 4, coros[2], 8);
		assert_task(x, 5, tasks[0], 0, 0);
		assert_frame(x, 6, coros[1], 6);
		assert_frame(x, 7, coros[0], 4);
	}
}

static void of_several_the_first_is_taken_and_they_are_counted(void **state)
{
	struct fake_tasks *x = *state;

	for_each_new(v)
	{
		__u64 parents[3], child;

		for (__u32 cnt = 0; cnt <= 3; cnt++) {
			begin(x, v);
			for (int i = 0; i < 3; i++)
				parents[i] = fake_task(x, fake_suspended(x, fake_future(x), 2), 0);
			child = fake_task(x, fake_suspended(x, fake_future(x), 4), 0);
			fake_await_set(x, child, fake_task_set(x, 32, parents, cnt));
			walk_tasks(x, child);
			assert_task(x, 0, child, cnt, 0);
			assert_int_equal(x->result.cnt, cnt ? 4 : 2);
			if (cnt)
				assert_task(x, 2, parents[0], 0, 0);
		}
	}
}

static void what_has_ended_or_is_no_coroutine_has_no_frames(void **state)
{
	struct fake_tasks *x = *state;

	for_each_new(v)
	{
		__u64 parent, child;

		begin(x, v);
		parent = fake_task(x, fake_suspended(x, fake_future(x), 2), 0);
		child = fake_task(x, fake_coroutine(x, x->layout.state_ended, 0, 4), parent);
		walk_tasks(x, child);
		assert_int_equal(x->result.cnt, 3);
		assert_task(x, 0, child, 0, 0);
		assert_task(x, 1, parent, 0, 0);

		fake_put(x->f, child + CORO, fake_future(x));
		walk_tasks(x, child);
		assert_int_equal(x->result.cnt, 3);
		assert_task(x, 0, child, 0, TASK_NO_COROUTINE);
		assert_task(x, 1, parent, 0, 0);

		/* A future between tasks: krait ignores the field where a task has its coroutine. */
		fake_put_u8(x->f, child + IS_TASK, 0);
		fake_put(x->f, child + CORO, 8);
		walk_tasks(x, child);
		assert_task(x, 0, child, 0, 0);
		assert_task(x, 1, parent, 0, 0);
	}
}

static void circles_end(void **state)
{
	struct fake_tasks *x = *state;

	for_each_new(v)
	{
		for (int length = 1; length <= CYCLES; length++) {
			__u64 tasks[CYCLES], coro;
			__u32 last;

			begin(x, v);
			for (int i = 0; i < length; i++)
				tasks[i] = fake_task(x, fake_suspended(x, fake_future(x), 2),
						     i ? tasks[i - 1] : 0);
			fake_put(x->f, tasks[0] + AWAITED_BY, tasks[length - 1]);
			walk_tasks(x, tasks[0]);
			last = x->result.cnt - 2;
			assert_int_equal(x->result.parts[last].fingerprint, TASK_CYCLE);
			assert_true(x->result.cnt <= 8 * CYCLES);

			/* A coroutine that awaits itself. */
			coro = fake_suspended(x, 0, 6);
			fake_put(x->f, coro + IFRAME + 120 - x->layout.yield_depth, coro);
			walk_tasks(x, fake_task(x, coro, 0));
			assert_int_equal(x->result.cnt, KRAIT_MAX_TASK_PARTS);
			assert_int_equal(x->result.parts[0].fingerprint, TASK_LIMIT);
		}
	}
}

static void what_is_torn_is_marked(void **state)
{
	struct fake_tasks *x = *state;

	for_each_new(v)
	{
		__u64 parents[1], child;

		begin(x, v);
		parents[0] = fake_task(x, fake_suspended(x, fake_future(x), 2), 0);
		child = fake_task(x, fake_suspended(x, fake_future(x), 4), parents[0]);
		/* Marked as a set, or a task, which it is not (yet). */
		fake_put_u8(x->f, child + IS_SET, 1);
		fake_put(x->f, parents[0] + 40, 12345);
		fake_put(x->f, parents[0] + 24, 2);
		walk_tasks(x, child);
		assert_task(x, 0, child, 2, TASK_TORN);
		fake_await_set(x, child, fake_task_set(x, 8, parents, 1));
		fake_put_u8(x->f, child + IS_SET, 0);
		fake_put_u8(x->f, fake_get(x->f, child + AWAITED_BY) + IS_TASK, 2);
		walk_tasks(x, child);
		assert_int_equal(x->result.cnt, 3);
		assert_int_equal(x->result.parts[2].fingerprint, TASK_TORN);

		walk_tasks(x, child + 4);
		assert_task(x, 0, child + 4, 0, TASK_TORN);
		fake_put_u8(x->f, child + IS_SET, 3);
		walk_tasks(x, child);
		assert_task(x, 0, child, 0, TASK_TORN);
	}
}

#define SPAN                                                                                       \
	(256 << 10) /* further than what a word of the stack that points into the stack may be */

/* Puts the entry frame of a coroutine that runs, called from that frame. */
static void enter(struct fake_tasks *x, __u64 coro, __u64 entry_addr, __u64 caller_addr)
{
	const struct py_offsets *off = &x->f->offsets;

	fake_put(x->f, coro + IFRAME + off->frame.previous, entry_addr);
	fake_put(x->f, entry_addr + off->frame.previous, caller_addr);
}

/*
 * A task that starts eagerly: the stack has its creator, that one's creator where an earlier call
 * left it, and tasks that do not run, or deeper in the stack.
 */
static void an_eager_task_goes_on_with_its_creator(void **state)
{
	struct fake_tasks *x = *state;

	for_each_new(v)
	{
		__u64 coros[4], tasks[4], parent, other, stack;

		begin(x, v);
		parent = fake_task(x, fake_suspended(x, fake_future(x), 2), 0);
		other = fake_task(x, fake_suspended(x, fake_future(x), 4), 0);
		for (int i = 0; i < 4; i++) {
			coros[i] = fake_coroutine(x, x->layout.state_executing, 0, 6 + 2 * i);
			tasks[i] = fake_task(x, coros[i], i ? 0 : parent);
		}
		fake_alloc(x->f, SPAN);
		stack = fake_alloc(x->f, 16384) + 4096;
		/* tasks[0] creates tasks[1], that tasks[2], which runs; tasks[3] is deeper. */
		enter(x, coros[0], stack + 3200, fake_alloc(x->f, 256));
		enter(x, coros[1], stack + 1600, fake_alloc(x->f, 256));
		enter(x, coros[2], stack, fake_alloc(x->f, 256));
		enter(x, coros[3], stack - 800, fake_alloc(x->f, 256));
		fake_put(x->f, tasks[2] + AWAITED_BY, other);
		fake_put(x->f, stack + 96, tasks[0]);
		fake_put(x->f, stack + 104, other);
		fake_put(x->f, stack + 120, tasks[2]);
		fake_put(x->f, stack + 160, tasks[3]);
		fake_put(x->f, stack + 280, tasks[1]);
		fake_put(x->f, stack + 600, tasks[0]);
		fake_put(x->f, stack + 1600 + 280, tasks[0]);
		walk_tasks(x, tasks[2]);
		assert_int_equal(x->result.cnt, 8);
		assert_task(x, 0, tasks[2], 0, TASK_LIVE | TASK_EAGER);
		assert_frame(x, 1, coros[2], 10);
		assert_task(x, 2, tasks[1], 0, TASK_LIVE | TASK_EAGER);
		assert_frame(x, 3, coros[1], 8);
		assert_task(x, 4, tasks[0], 0, TASK_LIVE);
		assert_frame(x, 5, coros[0], 6);
		assert_task(x, 6, parent, 0, 0);

		/* Too far away, or no longer running: then it has none, but those that await it. */
		fake_put(x->f, stack + 280, 0);
		fake_put(x->f, stack + 640, tasks[1]);
		fake_put_u8(x->f, coros[0] + STATE, (__u8)x->layout.state_yield_from);
		walk_tasks(x, tasks[2]);
		assert_int_equal(x->result.cnt, 4);
		assert_task(x, 0, tasks[2], 0, TASK_LIVE);
		assert_task(x, 2, other, 0, 0);

		/* The stack is not present: whoever comes next may be missing. */
		fake_fault(x->f, stack + 320, 8);
		walk_tasks(x, tasks[2]);
		assert_int_equal(x->result.cnt, 2);
		assert_task(x, 0, tasks[2], 0, TASK_LIVE | TASK_TORN);
		fake_heal(x->f);
	}
}

/* A task whose coroutine calls a function that runs another loop; a generator that no task runs is between. */
static void a_loop_within_a_task_goes_on_with_that(void **state)
{
	struct fake_tasks *x = *state;

	for_each_new(v)
	{
		const struct py_offsets *off = &x->f->offsets;
		__u64 coros[3], outer, inner, main, parent, function, stack;

		begin(x, v);
		off = &x->f->offsets;
		parent = fake_task(x, fake_suspended(x, fake_future(x), 2), 0);
		main = fake_task(x, fake_suspended(x, fake_future(x), 4), 0);
		for (int i = 0; i < 3; i++)
			coros[i] = fake_coroutine(x, x->layout.state_executing, 0, 6 + 2 * i);
		outer = fake_task(x, coros[0], parent);
		inner = fake_task(x, coros[2], main);
		fake_alloc(x->f, SPAN);
		stack = fake_alloc(x->f, 16384) + 4096;
		function = fake_alloc(x->f, 256);
		/* inner, which main awaits, runs below coros[1], which outer's coroutine calls. */
		enter(x, coros[0], stack + 3200, fake_alloc(x->f, 256));
		enter(x, coros[1], stack + 1600, coros[0] + IFRAME);
		enter(x, coros[2], stack, function);
		fake_put(x->f, function + off->frame.previous, coros[1] + IFRAME);
		for (int i = 0; i < 2; i++)
			fake_put_u8(x->f, stack + 1600 * (i + 1) + off->frame.owner, FAKE_ENTRY);
		fake_put(x->f, stack + 1600 + 200, inner);
		fake_put(x->f, stack + 3200 + 80, parent);
		fake_put(x->f, stack + 3200 + 200, outer);
		walk_tasks(x, inner);
		assert_int_equal(x->result.cnt, 8);
		assert_task(x, 0, inner, 0, TASK_LIVE);
		assert_frame(x, 1, coros[2], 10);
		assert_task(x, 2, main, 0, TASK_WITHIN);
		assert_task(x, 4, outer, 0, TASK_LIVE);
		assert_frame(x, 5, coros[0], 6);
		assert_task(x, 6, parent, 0, 0);

		/* A frame on the way is not present: whoever comes next may be missing. */
		fake_fault(x->f, function, 8);
		walk_tasks(x, inner);
		assert_int_equal(x->result.cnt, 4);
		assert_task(x, 2, main, 0, TASK_TORN);
		fake_heal(x->f);

		/* The task's address is not where the evaluation loop keeps it. */
		fake_put(x->f, stack + 3200 + 200, 0);
		walk_tasks(x, inner);
		assert_int_equal(x->result.cnt, 4);
		assert_task(x, 2, main, 0, 0);
	}
}

/* Each read may fail; the result is then a part of the truth or has a note. */
static void every_fault_is_noted(void **state)
{
	struct fake_tasks *x = *state;

	for_each_new(v)
	{
		struct task_walk_result whole;
		__u64 inner, outer, tasks[2], running;
		unsigned long reads;

		begin(x, v);
		inner = fake_suspended(x, fake_future(x), 4);
		outer = fake_suspended(x, fake_wrapper(x, inner), 6);
		tasks[0] = fake_task(x, outer, 0);
		tasks[1] = fake_task(x, fake_suspended(x, fake_future(x), 8), 0);
		fake_await_set(x, tasks[1], fake_task_set(x, 8, tasks, 1));
		running =
			fake_task(x, fake_coroutine(x, x->layout.state_executing, 0, 12), tasks[1]);
		fake_heal(x->f);
		walk_tasks(x, running);
		whole = x->result;
		reads = x->f->reads;
		assert_true(reads > 10 && reads < 30);
		for (unsigned long n = 1; n <= reads; n++) {
			fake_heal(x->f);
			x->f->fail_at = n;
			walk_tasks(x, running);
			assert_true(x->result.cnt >= 1 && x->result.cnt <= whole.cnt);
			for (__u32 i = 0; i < x->result.cnt; i++) {
				__u32 j = 0;

				while (j < whole.cnt &&
				       whole.parts[j].frame_addr != x->result.parts[i].frame_addr)
					j++;
				assert_true(j < whole.cnt);
			}
		}
		fake_heal(x->f);
	}
}

/*
 * A page of what a coroutine awaits, or of what that contains, is not present; a number as first
 * member is no object.
 */
static void what_is_not_present_is_marked(void **state)
{
	static const __u64 numbers[] = { 0, 8, 4096, 1ULL << 63, ~7ULL };
	struct fake_tasks *x = *state;
	const __u64 absent = 0x7e0000000000;

	for_each_new(v)
	{
		__u64 coro, task;

		begin(x, v);
		coro = fake_suspended(x, absent, 4);
		task = fake_task(x, coro, 0);
		walk_tasks(x, task);
		assert_task(x, 0, task, 0, TASK_FRAMES);
		assert_frame(x, 1, coro, 4);
		coro = fake_suspended(x, fake_wrapper(x, absent), 4);
		task = fake_task(x, coro, 0);
		walk_tasks(x, task);
		assert_task(x, 0, task, 0, TASK_FRAMES);
		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
			coro = fake_suspended(x, fake_wrapper(x, numbers[i]), 4);
			task = fake_task(x, coro, 0);
			walk_tasks(x, task);
			assert_task(x, 0, task, 0, 0);
		}
	}
}

/* Any memory content: bounded, and no part beyond the room. */
static void garbage_ends(void **state)
{
	struct fake_tasks *x = *state;

	for (__u64 round = 0; round < 300; round++) {
		begin(x, 1 + (int)(round % 2));
		walk_tasks(x, fake_tasks_garbage(x, round + 1));
	}
}

/* Makes an ASCII str or an int as CPython lays them out after the type. */
static __u64 object_of(struct fake_tasks *x, __u32 flags, __u64 first, __u64 third)
{
	__u64 type = fake_alloc(x->f, 256), addr = fake_alloc(x->f, 128);

	fake_put(x->f, type + 168, flags);
	fake_put(x->f, addr + 8, type);
	fake_put(x->f, addr + 16, first);
	fake_put(x->f, addr + 24, third);
	return addr;
}

static void a_name_is_a_text_or_a_number(void **state)
{
	struct fake_tasks *x = *state;
	static const char text[] = "a name of more than sixteen and less than 48";

	for_each_new(v)
	{
		__u64 running, name;
		char got[3 * TASK_NAME_PART + 1] = "";

		begin(x, v);
		x->f->offsets.unicode.ascii_size = 40;
		x->names = true;
		running = fake_task(x, fake_suspended(x, fake_future(x), 4), 0);
		fake_put(x->f, running + 136, object_of(x, 1U << 24, 1 << 3, 4711));
		walk_tasks(x, running);
		assert_int_equal(x->result.cnt, 3);
		assert_int_equal(x->result.parts[1].code_addr, TASK_NAME_NUMBER);
		assert_int_equal(x->result.parts[1].frame_addr, 4711);

		name = object_of(x, 1U << 28, sizeof(text) - 1, 0);
		fake_put_u32(x->f, name + 32, 25 << 2);
		memcpy(fake_at(x->f, name + 40), text, sizeof(text));
		fake_put(x->f, running + 136, name);
		walk_tasks(x, running);
		assert_int_equal(x->result.cnt, 5);
		for (int i = 0; i < 3; i++) {
			assert_int_equal(x->result.parts[1 + i].code_addr, TASK_NAME_TEXT);
			memcpy(got + i * TASK_NAME_PART, &x->result.parts[1 + i].frame_addr,
			       TASK_NAME_PART);
		}
		assert_string_equal(got, text);

		/* Two bytes per character, neither str nor int, or unreadable: no name. */
		fake_put_u32(x->f, name + 32, (2 | 8) << 2);
		walk_tasks(x, running);
		assert_int_equal(x->result.cnt, 2);
		fake_put(x->f, running + 136, object_of(x, 1U << 25, 1 << 3, 1));
		walk_tasks(x, running);
		assert_int_equal(x->result.cnt, 2);
		fake_put(x->f, running + 136, 0);
		walk_tasks(x, running);
		assert_int_equal(x->result.cnt, 2);
		x->names = false;
	}
}

static __u64 offset_of(const __u64 *table, size_t position)
{
	return table[position / 8];
}

/* gen_object and set_object of the published tables: positions as in py_debug_tables.h. */
static void the_layout_is_that_of_published_tables(void **state)
{
	static const struct {
		const __u64 *table;
		size_t iframe, state, used, mask, entries, stackpointer;
	} known[] = {
		{ py_debug_table_3_14_10, 680, 688, 504, 520, 512, 296 },
		{ py_debug_table_3_15_2, 808, 816, 600, 616, 608, 360 },
	};
	struct fake_tasks *x = *state;

	for (int v = 1; v < FAKE_VERSION_CNT; v++) {
		const __u64 *table = known[v - 1].table;

		begin(x, v);
		assert_int_equal(x->layout.gen_iframe, offset_of(table, known[v - 1].iframe));
		assert_int_equal(x->layout.gen_state + x->layout.gen_iframe - 8,
				 offset_of(table, known[v - 1].state));
		assert_int_equal(x->layout.set_used, offset_of(table, known[v - 1].used));
		assert_int_equal(x->layout.set_used + 8, offset_of(table, known[v - 1].mask));
		assert_int_equal(x->layout.set_used + 16, offset_of(table, known[v - 1].entries));
		assert_int_equal(x->layout.frame_stackpointer,
				 offset_of(table, known[v - 1].stackpointer));
	}
}

static void a_layout_that_cannot_be_is_refused(void **state)
{
	struct fake_tasks *x = *state;
	struct published_asyncio wide = fake_asyncio;
	struct py_offsets old;

	begin(x, 1);
	wide.task_coro = 200;
	assert_int_equal(task_layout_of(&x->layout, &x->f->offsets, &wide, 1), -ENODATA);
	old = x->f->offsets;
	old.version = 0x030d12f0;
	assert_int_equal(task_layout_of(&x->layout, &old, &fake_asyncio, 1), -ENODATA);
	old = x->f->offsets;
	old.frame.instr_ptr = 48;
	assert_int_equal(task_layout_of(&x->layout, &old, &fake_asyncio, 1), -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_has_each_task_with_all_its_coroutines),
		cmocka_unit_test(of_several_the_first_is_taken_and_they_are_counted),
		cmocka_unit_test(what_has_ended_or_is_no_coroutine_has_no_frames),
		cmocka_unit_test(circles_end),
		cmocka_unit_test(what_is_torn_is_marked),
		cmocka_unit_test(an_eager_task_goes_on_with_its_creator),
		cmocka_unit_test(a_loop_within_a_task_goes_on_with_that),
		cmocka_unit_test(every_fault_is_noted),
		cmocka_unit_test(what_is_not_present_is_marked),
		cmocka_unit_test(garbage_ends),
		cmocka_unit_test(a_name_is_a_text_or_a_number),
		cmocka_unit_test(the_layout_is_that_of_published_tables),
		cmocka_unit_test(a_layout_that_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, fixture_new, fixture_free);
}
