/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_thread_list.c - user/python/walk/thread_list.c: every state of every interpreter, whatever the
 * lists contain; and process/probe/probe_threads.c: lists from a prober are checked.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_search.h"
#include "process/probe/probe_threads.h"
#include "base/data/cleanup.h"
#include "python/walk/thread_list.h"

#define CAP 64

static struct thread_list_entry list[CAP];

static enum reason read_list(const struct search_fixture *x, __u32 cap, __u32 *cnt)
{
	const struct stack_walk walk = { .memory = &x->fake->memory,
					 .offsets = &x->fake->offsets,
					 .runtime_addr = x->fake->runtime_addr };

	return thread_list_read(&walk, list, cap, cnt);
}

static void all_states_are_listed(void **state)
{
	struct search_fixture *x = *state;

	for_each_version(v)
	{
		__u64 first_addr, second_addr;
		__u32 cnt;

		search_fixture_begin(x, v);
		assert_int_equal(read_list(x, CAP, &cnt), REASON_NO_RUNTIME);
		first_addr = add_others(x, fake_interp(x->fake), 5);
		second_addr = add_others(x, fake_interp(x->fake), 3);
		assert_int_equal(read_list(x, CAP, &cnt), REASON_PYTHON);
		assert_int_equal(cnt, 8);
		for (__u32 i = 0; i < cnt; i++) {
			/* The newest interpreter is at the head. */
			assert_int_equal(list[i].interp_addr, i < 3 ? second_addr : first_addr);
			assert_true(list[i].thread_ptr >= OTHER(0));
			for (__u32 k = 0; k < i; k++)
				assert_int_not_equal(list[i].tstate_addr, list[k].tstate_addr);
		}
		assert_int_equal(read_list(x, 7, &cnt), REASON_THREAD_LIMIT);
		assert_int_equal(cnt, 7);
	}
}

static void a_list_that_changes_is_torn(void **state)
{
	struct search_fixture *x = *state;

	for_each_version(v)
	{
		const __s32 prev = (search_fixture_begin(x, v), x->fake->offsets.thread.prev);
		__u64 saved;
		__u32 cnt;

		add_others(x, fake_interp(x->fake), 5);
		assert_int_equal(read_list(x, CAP, &cnt), REASON_PYTHON);
		saved = fake_get(x->fake, list[3].tstate_addr + (__u64)prev);
		fake_put(x->fake, list[3].tstate_addr + (__u64)prev, list[0].tstate_addr);
		assert_int_equal(read_list(x, CAP, &cnt), REASON_THREAD_TORN);
		assert_int_equal(cnt, 3);
		fake_put(x->fake, list[3].tstate_addr + (__u64)prev, saved);
		/* A circle counts as torn where it closes. */
		fake_put(x->fake, list[4].tstate_addr + (__u64)x->fake->offsets.thread.next,
			 list[0].tstate_addr);
		assert_int_equal(read_list(x, CAP, &cnt), REASON_THREAD_TORN);
		fake_fault(x->fake, list[2].tstate_addr, 8);
		assert_int_equal(read_list(x, CAP, &cnt), REASON_THREAD_FAULT);
		assert_int_equal(cnt, 2);
		fake_heal(x->fake);
	}
}

/* ---- what a prober says -------------------------------------------------------------------------- */

struct answer {
	struct probe_threads_head head;
	struct probe_thread threads[2];
	struct frame frames[3];
	struct probe_local locals[2];
	char texts[8];
};

static struct answer good_answer(void)
{
	return (struct answer){
		.head = { .thread_cnt = 2, .frame_cnt = 3, .local_cnt = 2, .text_len = 8 },
		.threads = { { .tid = 10, .frame_cnt = 1 },
			     { .tid = 11, .first_frame = 1, .frame_cnt = 2 } },
		.locals = { { .name = 0, .value = 2 }, { .frame = 2, .name = 0, .value = 4 } },
		.texts = "a\0b\0ccc",
	};
}

static int read_answer(const struct answer *a, size_t size)
{
	cleanup_close int fd = memfd_create("test", MFD_CLOEXEC);
	struct probe_threads l;
	int err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, a, size), size);
	err = probe_threads_read(fd, &l);
	assert_true(!err == !!l.memory);
	if (!err) {
		assert_int_equal(l.thread_cnt, 2);
		assert_int_equal(l.threads[1].tid, 11);
	}
	probe_threads_free(&l);
	return err;
}

static void an_answer_is_checked(void **state)
{
	struct answer a = good_answer();

	assert_int_equal(read_answer(&a, sizeof(a)), 0);
	for (size_t size = 0; size < sizeof(a); size += 8)
		assert_int_equal(read_answer(&a, size), -EPROTO);
#define WRONG(change)                                                                              \
	a = good_answer();                                                                         \
	change;                                                                                    \
	assert_int_equal(read_answer(&a, sizeof(a)), -EPROTO)
	WRONG(a.head.thread_cnt = PROBE_THREADS_MAX + 1);
	WRONG(a.head.frame_cnt = PROBE_THREADS_FRAMES_MAX + 1);
	WRONG(a.head.list_reason = REASON_CNT);
	WRONG(a.head.next_tid = 11);
	WRONG(a.threads[0].tid = 11);
	WRONG(a.threads[0].tid = 0);
	WRONG(a.threads[0].reason = 255);
	WRONG(a.threads[1].first_frame = 2);
	WRONG(a.threads[1].frame_cnt = 0xffffffff);
	WRONG(a.head.local_cnt = PROBE_THREADS_LOCALS_MAX + 1);
	WRONG(a.head.text_len = PROBE_THREADS_TEXT_MAX + 1);
	WRONG(a.locals[0].frame = 3);
	WRONG(a.locals[0].frame = 2; a.locals[1].frame = 1);
	WRONG(a.locals[1].name = 8);
	WRONG(a.locals[1].value = 8);
	WRONG(a.texts[7] = 'x');
	WRONG(memset(a.threads[0].comm, 'x', sizeof(a.threads[0].comm)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_states_are_listed),
		cmocka_unit_test(a_list_that_changes_is_torn),
		cmocka_unit_test(an_answer_is_checked),
	};

	return cmocka_run_group_tests(tests, search_fixture_new, search_fixture_free);
}
