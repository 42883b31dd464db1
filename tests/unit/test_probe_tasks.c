/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_probe_tasks.c - asyncio tasks made of bytes, as listed by a prober: of threads, of ended
 * threads, and eager ones; who awaits them, where they are suspended, their names. Lists with
 * inconsistent links, circles and damage do not cause endless loops.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_fake_random.h"
#include "support_fake_tasks.h"
#include "support_sanitized.h"
#include "process/probe/probe_tasks.h"

#define IMAGE_ADDR 0x7f0000000000ULL
#define IMAGE_SIZE (512 << 10)
#define UNREADABLE (IMAGE_ADDR + 2 * IMAGE_SIZE)
#define THREAD_ID 4711
/* In a type, after the object header. */
#define TYPE_FLAGS (16 + 152)
#define IS_LONG (1 << 24)
#define IS_UNICODE (1 << 28)
#define DAMAGES 400

struct image {
	struct fake_tasks x;
	__u64 interp, thread;
	__u64 long_type, text_type;
	struct probe_tasks list;
};

static void build(struct image *m, int version)
{
	struct fake *f;

	if (m->x.f)
		fake_free(m->x.f);
	probe_tasks_free(&m->list);
	*m = (struct image){ .list.memory = NULL };
	f = fake_new(&fake_versions[version], IMAGE_ADDR, IMAGE_SIZE);
	f->offsets.object.ob_type = 8;
	fake_tasks_begin(&m->x, f);
	/* The lists of tasks are after the fields that the thread walker knows. */
	m->interp = fake_interp(f);
	fake_alloc(f, 8192);
	m->thread = fake_thread(f, m->interp, fake_alloc(f, 64), FAKE_STATUS_BOUND);
	fake_alloc(f, 512);
	fake_put_u32(f, m->thread + f->offsets.thread.native_thread_id, THREAD_ID);
	m->long_type = fake_alloc(f, 256);
	fake_put(f, m->long_type + TYPE_FLAGS, IS_LONG);
	m->text_type = fake_alloc(f, 256);
	fake_put(f, m->text_type + TYPE_FLAGS, IS_UNICODE);
}

/* Makes the list circular if it is empty. */
static void append(struct image *m, __u64 head, __u64 task)
{
	struct fake *f = m->x.f;
	__u64 node = task + fake_asyncio.task_node, last = fake_get(f, head + 8);

	if (!last) {
		fake_put(f, head, head);
		last = head;
	}
	fake_put(f, node, head);
	fake_put(f, node + 8, last);
	fake_put(f, last, node);
	fake_put(f, head + 8, node);
}

static __u64 of_thread(const struct image *m)
{
	return m->thread + fake_asyncio.thread_tasks_head;
}

static __u64 of_interp(const struct image *m)
{
	return m->interp + fake_asyncio.interp_tasks_head;
}

static __u64 put_task(struct image *m, __u64 head, __u64 awaited_by)
{
	__u64 task = fake_task(&m->x, fake_suspended(&m->x, fake_future(&m->x), 4), awaited_by);

	append(m, head, task);
	return task;
}

static void name_by_number(struct image *m, __u64 task, const __u32 *digits, __u32 cnt)
{
	__u64 number = fake_alloc(m->x.f, 48);

	fake_put(m->x.f, number + 8, m->long_type);
	fake_put(m->x.f, number + 16, cnt << 3 | !cnt);
	memcpy(fake_at(m->x.f, number + 24), digits, cnt * sizeof(*digits));
	fake_put(m->x.f, task + fake_asyncio.task_name, number);
}

static void name_by_text(struct image *m, __u64 task, const char *text)
{
	struct fake *f = m->x.f;
	__u64 addr = fake_alloc(f, 64 + strlen(text));
	/* One byte per character, compact, ASCII. */
	__u32 state = (1 | 1 << 3 | 1 << 4) << PYOFF_STRING_STATE_SHIFT(&f->offsets);

	fake_put(f, addr + 8, m->text_type);
	fake_put(f, addr + (__u64)f->offsets.unicode.length, strlen(text));
	fake_put_u32(f, addr + (__u64)f->offsets.unicode.state, state);
	memcpy(fake_at(f, addr + (__u64)f->offsets.unicode.ascii_size), text, strlen(text));
	fake_put(f, task + fake_asyncio.task_name, addr);
}

/* ---- the prober ------------------------------------------------------------------------------- */

static int list_with(struct image *m, const struct published_asyncio *asyncio)
{
	struct probe_tasks_ask ask = { .offsets = m->x.f->offsets,
				       .runtime_addr = m->x.f->runtime_addr,
				       .asyncio = *asyncio,
				       .names = m->x.names };
	int mem = memfd_create("memory", MFD_CLOEXEC), fd, err;

	probe_tasks_free(&m->list);
	assert_true(mem >= 0);
	assert_int_equal(pwrite(mem, m->x.f->bytes, IMAGE_SIZE, (off_t)IMAGE_ADDR), IMAGE_SIZE);
	fd = probe_tasks_list(mem, &ask);
	close(mem);
	if (fd < 0)
		return fd;
	err = probe_tasks_read(fd, &m->list);
	close(fd);
	return err;
}

static void list(struct image *m, __u32 cnt, __u32 flags)
{
	assert_int_equal(list_with(m, &fake_asyncio), 0);
	assert_int_equal(m->list.head.flags, flags);
	assert_int_equal(m->list.head.task_cnt, cnt);
}

static const struct probe_task *find(const struct image *m, __u64 addr)
{
	for (__u32 i = 0; i < m->list.head.task_cnt; i++)
		if (m->list.tasks[i].addr == addr)
			return &m->list.tasks[i];
	fail_msg("no task %llx", addr);
	return NULL;
}

static void assert_waiters(const struct image *m, __u64 task, const __u64 *waiters, __u32 cnt)
{
	const struct probe_task *t = find(m, task);

	assert_int_equal(t->waiter_cnt, cnt);
	for (__u32 i = 0; i < cnt; i++)
		assert_int_equal(m->list.waiters[t->first_waiter + i], waiters[i]);
}

static const char *name_of(const struct image *m, __u64 task)
{
	const struct probe_task *t = find(m, task);

	return t->flags & PROBE_TASK_NAMED ? m->list.texts + t->name : NULL;
}

/* ---- what is there ---------------------------------------------------------------------------- */

static void of_threads_and_of_those_that_have_ended(void **state)
{
	struct image *m = *state;

	for_each_new(v)
	{
		__u64 first, second, orphan;

		build(m, v);
		list(m, 0, 0);
		first = put_task(m, of_thread(m), 0);
		second = put_task(m, of_thread(m), first);
		orphan = put_task(m, of_interp(m), 0);
		list(m, 3, 0);
		assert_int_equal(m->list.head.list_reason, REASON_PYTHON);
		assert_int_equal(find(m, first)->thread_id, THREAD_ID);
		assert_int_equal(find(m, second)->thread_id, THREAD_ID);
		assert_int_equal(find(m, orphan)->thread_id, 0);
		assert_waiters(m, first, NULL, 0);
		assert_waiters(m, second, &first, 1);
		assert_int_equal(find(m, orphan)->flags, 0);
	}
}

static void the_running_one_is_said_to_be_in_a_list_or_not(void **state)
{
	struct image *m = *state;

	for_each_new(v)
	{
		__u64 listed, eager;

		build(m, v);
		listed = put_task(m, of_thread(m), 0);
		put_task(m, of_thread(m), 0);
		fake_put(m->x.f, m->thread + fake_asyncio.thread_running_task, listed);
		list(m, 2, 0);
		assert_int_equal(find(m, listed)->flags, PROBE_TASK_RUNS);

		eager = fake_task(&m->x, fake_suspended(&m->x, fake_future(&m->x), 2), listed);
		fake_put(m->x.f, m->thread + fake_asyncio.thread_running_task, eager);
		list(m, 3, 0);
		assert_int_equal(find(m, listed)->flags, 0);
		assert_int_equal(find(m, eager)->flags, PROBE_TASK_RUNS);
		assert_int_equal(find(m, eager)->thread_id, THREAD_ID);
		assert_waiters(m, eager, &listed, 1);
	}
}

static void frames_are_those_of_all_its_coroutines(void **state)
{
	struct image *m = *state;

	for_each_new(v)
	{
		__u64 inner, outer, task;
		const struct probe_task *t;

		build(m, v);
		inner = fake_suspended(&m->x, fake_future(&m->x), 6);
		outer = fake_suspended(&m->x, inner, 8);
		task = fake_task(&m->x, outer, 0);
		append(m, of_thread(m), task);
		list(m, 1, 0);
		t = find(m, task);
		assert_int_equal(t->frame_cnt, 2);
		assert_int_equal(m->list.frames[t->first_frame].instr_off, 8);
		assert_int_equal(m->list.frames[t->first_frame + 1].instr_off, 6);

		fake_put(m->x.f, task + CORO, fake_future(&m->x));
		list(m, 1, 0);
		assert_int_equal(find(m, task)->frame_cnt, 0);
		assert_int_equal(find(m, task)->notes, TASK_NO_COROUTINE);
	}
}

static void several_that_await_it_are_all_there(void **state)
{
	struct image *m = *state;

	for_each_new(v)
	{
		__u64 waiters[40], task;

		build(m, v);
		for (int i = 0; i < 40; i++)
			waiters[i] = put_task(m, of_thread(m), 0);
		task = put_task(m, of_thread(m), 0);
		fake_await_set(&m->x, task, fake_task_set(&m->x, 128, waiters, 40));
		list(m, 41, 0);
		assert_waiters(m, task, waiters, 40);
	}
}

static void names_are_numbers_or_texts(void **state)
{
	static const __u32 large[] = { 5, 2 }, many[3] = { 1, 1, 1 };
	struct image *m = *state;

	for_each_new(v)
	{
		__u64 number, beyond, text, none, other, odd;

		build(m, v);
		m->x.f->offsets.unicode.length = 16;
		m->x.f->offsets.unicode.state = 32;
		m->x.f->offsets.unicode.ascii_size = 40;
		m->x.f->offsets.unicode.compact_size = 56;
		name_by_number(m, number = put_task(m, of_thread(m), 0), large, 1);
		name_by_number(m, beyond = put_task(m, of_thread(m), 0), large, 2);
		name_by_text(m, text = put_task(m, of_thread(m), 0), "fetch \"x\"");
		none = put_task(m, of_thread(m), 0);
		name_by_number(m, other = put_task(m, of_thread(m), 0), many, 3);
		name_by_number(m, odd = put_task(m, of_thread(m), 0), many, 0);
		list(m, 6, 0);
		assert_null(name_of(m, number)); /* not requested */
		m->x.names = true;
		list(m, 6, 0);
		assert_string_equal(name_of(m, number), "Task-5");
		assert_string_equal(name_of(m, beyond), "Task-2147483653");
		assert_string_equal(name_of(m, text), "fetch \"x\"");
		assert_null(name_of(m, none));
		assert_null(name_of(m, other)); /* more tasks than can exist */
		assert_null(name_of(m, odd));
	}
}

/* ---- what is not as it should be --------------------------------------------------------------- */

static void lists_that_change_are_said_to(void **state)
{
	struct image *m = *state;

	for_each_new(v)
	{
		__u64 first, second, node;

		build(m, v);
		first = put_task(m, of_thread(m), 0);
		second = put_task(m, of_thread(m), 0);
		node = second + fake_asyncio.task_node;
		fake_put(m->x.f, node + 8, node); /* its back link is wrong */
		list(m, 1, PROBE_TASKS_CHANGED);
		assert_non_null(find(m, first));
		/* A circle without the head. */
		fake_put(m->x.f, node + 8, first + fake_asyncio.task_node);
		fake_put(m->x.f, node, first + fake_asyncio.task_node);
		list(m, 2, PROBE_TASKS_CHANGED);
		/* An unreadable link, and a misaligned one. */
		fake_put(m->x.f, node, UNREADABLE);
		list(m, 2, PROBE_TASKS_CHANGED);
		fake_put(m->x.f, node, first + fake_asyncio.task_node + 4);
		list(m, 2, PROBE_TASKS_CHANGED);
	}
}

static void sets_that_cannot_be_read_are_said_to_have_changed(void **state)
{
	struct image *m = *state;

	for_each_new(v)
	{
		__u64 task, set, waiter;

		build(m, v);
		waiter = task = put_task(m, of_thread(m), 0);
		set = fake_task_set(&m->x, 32, &waiter, 1);
		fake_await_set(&m->x, task, set);
		fake_put(m->x.f, set + 40, UNREADABLE); /* its table */
		list(m, 1, PROBE_TASKS_CHANGED);
		assert_waiters(m, task, NULL, 0);
		fake_put(m->x.f, task + AWAITED_BY, UNREADABLE);
		list(m, 1, 0);
		assert_waiters(m, task, NULL, 0);
		/* As large as possible, with one entry although it claims millions. */
		fake_put(m->x.f, task + AWAITED_BY, set);
		fake_put(m->x.f, set + 24, ~0ULL);
		fake_put(m->x.f, set + 32, ~0ULL);
		fake_put(m->x.f, set + 40, IMAGE_ADDR);
		assert_int_equal(list_with(m, &fake_asyncio), 0);
	}
}

static void a_table_or_a_layout_that_cannot_be_is_refused(void **state)
{
	struct published_asyncio wrong = fake_asyncio;
	struct image *m = *state;

	build(m, 1);
	wrong.task_coro = wrong.task_size;
	assert_int_equal(list_with(m, &wrong), -EINVAL);
	m->x.f->offsets.object.ob_type = 40;
	assert_int_equal(list_with(m, &fake_asyncio), -ENODATA);
}

/* Any word may have any value: we only require that it ends. */
static void damage_ends(void **state)
{
	struct rng rng = rng_from_environment();
	struct image *m = *state;

	for_each_new(v)
	{
		for (int run = 0; run < TIMES(DAMAGES); run++) {
			__u64 tasks[4];

			build(m, v);
			for (int i = 0; i < 4; i++)
				tasks[i] = put_task(m, i % 2 ? of_thread(m) : of_interp(m), 0);
			fake_await_set(&m->x, tasks[3], fake_task_set(&m->x, 32, tasks, 3));
			m->x.names = true;
			fake_mutate(m->x.f, &rng, 1 + rng_below(&rng, 100));
			assert_int_equal(list_with(m, &fake_asyncio), 0);
		}
	}
}

static int begin(void **state)
{
	*state = calloc(1, sizeof(struct image));
	return *state ? 0 : -1;
}

static int end(void **state)
{
	struct image *m = *state;

	if (m->x.f)
		fake_free(m->x.f);
	probe_tasks_free(&m->list);
	free(m);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_threads_and_of_those_that_have_ended),
		cmocka_unit_test(the_running_one_is_said_to_be_in_a_list_or_not),
		cmocka_unit_test(frames_are_those_of_all_its_coroutines),
		cmocka_unit_test(several_that_await_it_are_all_there),
		cmocka_unit_test(names_are_numbers_or_texts),
		cmocka_unit_test(lists_that_change_are_said_to),
		cmocka_unit_test(sets_that_cannot_be_read_are_said_to_have_changed),
		cmocka_unit_test(a_table_or_a_layout_that_cannot_be_is_refused),
		cmocka_unit_test(damage_ends),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
