/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_threads.c - threads are removed with their process, each once, and one with a reused id
 * inherits nothing.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bpf/abi.h"
#include "record/follow/processes.h"

struct fixture {
	struct threads *threads;
	struct process process[3];
	unsigned gone;
	pid_t last_gone;
};

static void on_gone(void *ctx, struct thread *thread)
{
	struct fixture *f = ctx;

	assert_non_null(thread->process);
	f->gone++;
	f->last_gone = thread->tid;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->threads = threads__new();
	threads__make_room(f->threads, sizeof(__u64));
	for (int i = 0; i < 3; i++)
		TAILQ_INIT(&f->process[i].threads);
	threads__on_gone(f->threads, on_gone, f);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 3; i++)
		threads__remove_all(f->threads, &f->process[i]);
	threads__free(f->threads);
	free(f);
	return 0;
}

static void a_thread_is_found_by_id_and_start(void **state)
{
	struct fixture *f = *state;
	struct thread *t = threads__add(f->threads, &f->process[0], 5, 100);

	assert_ptr_equal(threads__find(f->threads, 5, 100), t);
	assert_ptr_equal(t->process, &f->process[0]);
	assert_int_equal(t->slot, KRAIT_NO_SLOT);
	assert_null(threads__find(f->threads, 5, 101));
	assert_null(threads__find(f->threads, 6, 100));
}

static void the_next_thread_of_an_id_inherits_nothing(void **state)
{
	struct fixture *f = *state;
	struct thread *t = threads__add(f->threads, &f->process[0], 5, 100), *next;
	__u32 number = t->number;

	*(__u64 *)t->own = 7;
	t->slot = 3;
	next = threads__add(f->threads, &f->process[1], 5, 200);
	assert_int_equal(f->gone, 1);
	assert_int_equal(*(__u64 *)next->own, 0);
	assert_int_equal(next->slot, KRAIT_NO_SLOT);
	assert_int_not_equal(next->number, number);
	assert_null(threads__find(f->threads, 5, 100));
	assert_true(TAILQ_EMPTY(&f->process[0].threads));
}

static void a_process_takes_its_threads_along(void **state)
{
	struct fixture *f = *state;

	for (pid_t tid = 1; tid <= 300; tid++)
		threads__add(f->threads, &f->process[tid % 3], tid, 1);
	threads__remove(f->threads, threads__find(f->threads, 3, 1));
	assert_int_equal(f->gone, 1);
	threads__remove_all(f->threads, &f->process[0]);
	assert_int_equal(f->gone, 100);
	for (pid_t tid = 1; tid <= 300; tid++)
		assert_true(!threads__find(f->threads, tid, 1) == (tid % 3 == 0));
	threads__remove_all(f->threads, &f->process[0]);
	assert_int_equal(f->gone, 100);
}

static void beyond_the_bound_the_one_sampled_longest_ago_goes(void **state)
{
	struct fixture *f = *state;

	for (pid_t tid = 1; tid <= THREADS_MAX; tid++)
		threads__add(f->threads, &f->process[tid % 3], tid, 1);
	assert_int_equal(f->gone, 0);
	threads__find(f->threads, 1, 1);
	threads__add(f->threads, &f->process[0], THREADS_MAX + 1, 1);
	assert_int_equal(f->gone, 1);
	assert_int_equal(f->last_gone, 2);
	assert_non_null(threads__find(f->threads, 1, 1));
	assert_true(threads__is_full(f->threads));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_thread_is_found_by_id_and_start),
		TEST(the_next_thread_of_an_id_inherits_nothing),
		TEST(a_process_takes_its_threads_along),
		TEST(beyond_the_bound_the_one_sampled_longest_ago_goes),
	};

	return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
