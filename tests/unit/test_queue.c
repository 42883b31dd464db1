/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_queue.c - each reader gets the records in order, whatever the other does; memory stays
 * within its limit and is freed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include <linux/bpf.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "kernel/sampler/queue.h"
#include "base/system/clock.h"

#define CHUNKS 4
#define BOUND (CHUNKS * QUEUE_CHUNK)

/* Sizes that fill chunks unevenly. */
static __u32 size_of(__u64 number)
{
	return 8 + (__u32)(number * 2654435761U % 30000);
}

/* Puts a record that repeats its own number; returns false if there is no room. */
static bool put(struct queue *q, __u64 number, __u32 flags)
{
	struct queue_head head = { .size = size_of(number) };
	size_t stride = queue_stride(&head), room;
	char *to = queue__room(q, stride, &room);

	if (!to)
		return false;
	assert_true(room >= stride);
	head.size |= flags;
	memcpy(to, &head, sizeof(head));
	memset(to + sizeof(head), (int)(number & 255), size_of(number));
	memcpy(to + sizeof(head), &number, sizeof(number));
	queue__commit(q, stride);
	return true;
}

/* Takes the next record, which must be that one. Returns false if there is none. */
static bool take(struct queue *q, unsigned cursor, __u64 number)
{
	size_t size;
	const unsigned char *data = queue__peek(q, cursor, &size);
	__u64 found;

	if (!data)
		return false;
	memcpy(&found, data, sizeof(found));
	if (found != number || size != size_of(number) ||
	    (size > sizeof(found) && data[size - 1] != (number & 255)))
		fail_msg("record %llu is not number %llu", found, number);
	queue__pop(q, cursor);
	return true;
}

static void test_in_order_and_bounded(void **state)
{
	struct queue *q = queue__new(BOUND, 1);
	__u64 in = 0, out = 0;

	assert_non_null(q);
	assert_false(take(q, 0, 0));
	for (int round = 0; round < 50; round++) {
		while (put(q, in, 0))
			in++;
		assert_int_equal(queue__chunks(q), CHUNKS);
		/* Does not always take everything, so chunks begin and end at varying places. */
		while ((round % 3 == 0 || out + 7 < in) && take(q, 0, out))
			out++;
	}
	while (take(q, 0, out))
		out++;
	assert_int_equal(in, out);
	assert_int_equal(queue__waiting(q, 0), 0);
	queue__free(q);
}

static void test_memory_goes_back(void **state)
{
	struct queue *q = queue__new(64 * QUEUE_CHUNK, 1);
	__u64 in = 0, out = 0;

	while (put(q, in, 0))
		in++;
	assert_int_equal(queue__chunks(q), 64);
	while (take(q, 0, out))
		out++;
	assert_int_equal(in, out);
	assert_in_range(queue__chunks(q), 1, 8);
	queue__free(q);
}

/* A stopped reader blocks the writer but takes nothing from the other reader. */
static void test_each_reader_at_its_own_pace(void **state)
{
	struct queue *q = queue__new(BOUND, 2);
	__u64 in = 0, out = 0, late = 0;

	while (put(q, in, 0)) {
		in++;
		assert_true(take(q, 0, out));
		out++;
	}
	assert_int_equal(in, out);
	assert_true(in > CHUNKS);
	assert_int_equal(queue__waiting(q, 0), 0);
	assert_true(queue__waiting(q, 1) > (CHUNKS - 1) * QUEUE_CHUNK);
	while (take(q, 1, late))
		late++;
	assert_int_equal(in, late);
	assert_true(put(q, in, 0));
	assert_true(take(q, 0, in));
	assert_true(take(q, 1, in));
	queue__free(q);
}

static void test_what_the_kernel_took_back_is_skipped(void **state)
{
	struct queue *q = queue__new(BOUND, 1);

	assert_true(put(q, 1, BPF_RINGBUF_DISCARD_BIT));
	assert_true(put(q, 2, 0));
	assert_true(put(q, 3, BPF_RINGBUF_DISCARD_BIT));
	assert_true(take(q, 0, 2));
	assert_false(take(q, 0, 0));
	queue__close(q);
	assert_true(queue__is_over(q, 0));
	queue__free(q);
}

/* Runs of records for the first reader only, as long as a commit or within one. */
static void test_others_pass_over_what_is_marked(void **state)
{
	struct queue *q = queue__new(BOUND, 2);
	struct queue_head *run, *last;
	size_t room, stride;
	char *to = queue__room(q, 5 * 32, &room);

	assert_non_null(to);
	stride = queue_stride(&(struct queue_head){ .size = 8 });
	for (__u64 number = 0; number < 5; number++) {
		*(struct queue_head *)(to + number * stride) = (struct queue_head){ .size = 8 };
		memcpy(to + number * stride + sizeof(*run), &number, sizeof(number));
	}
	run = (struct queue_head *)(to + stride);
	last = (struct queue_head *)(to + 4 * stride);
	queue_skip(run, stride);
	queue_skip(run, stride);
	queue_skip(last, stride);
	queue__commit(q, 5 * stride);
	for (__u64 number = 0; number < 5; number++) {
		const __u64 *data = queue__peek(q, 0, &room);

		assert_true(data && *data == number);
		queue__pop(q, 0);
	}
	for (__u64 number = 0; number < 5; number += 3) {
		const __u64 *data = queue__peek(q, 1, &room);

		assert_true(data && *data == number);
		queue__pop(q, 1);
	}
	assert_null(queue__peek(q, 1, &room));
	assert_int_equal(queue__waiting(q, 1), 0);
	queue__free(q);
}

static void test_end(void **state)
{
	struct queue *q = queue__new(BOUND, 2);

	assert_true(put(q, 1, 0));
	assert_false(queue__is_over(q, 0));
	queue__close(q);
	assert_false(queue__is_over(q, 0));
	assert_true(take(q, 0, 1));
	assert_true(queue__is_over(q, 0));
	assert_false(queue__is_over(q, 1));
	queue__free(q);
}

static bool is_readable(struct queue *q, unsigned cursor)
{
	struct pollfd fd = { .fd = queue__fd(q, cursor), .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

static void test_only_sleepers_are_woken(void **state)
{
	struct queue *q = queue__new(BOUND, 2);

	queue__wake(q, 0);
	assert_false(is_readable(q, 0));
	assert_true(queue__arm(q, 0));
	assert_true(put(q, 1, 0));
	assert_false(is_readable(q, 0)); /* the writer decides when */
	queue__wake(q, 0);
	queue__wake(q, 0);
	queue__wake(q, 1);
	assert_true(is_readable(q, 0));
	assert_false(is_readable(q, 1));
	queue__disarm(q, 0);
	assert_false(is_readable(q, 0));
	/* There is something to read, so no sleep. */
	assert_false(queue__arm(q, 0));
	assert_true(take(q, 0, 1));
	assert_true(queue__arm(q, 0));
	queue__disarm(q, 0);
	queue__close(q);
	assert_false(queue__arm(q, 0));
	queue__free(q);
}

static void test_waiting_for_room_ends(void **state)
{
	struct queue *q = queue__new(BOUND, 1);
	__u64 before_ns, in = 0, out = 0;

	queue__wait_room(q, 10000); /* there is room */
	while (put(q, in, 0))
		in++;
	before_ns = clock_monotonic_ns();
	queue__wait_room(q, 20);
	assert_true(clock_monotonic_ns() - before_ns >= 20 * 1000000ULL);
	while (take(q, 0, out))
		out++;
	before_ns = clock_monotonic_ns();
	queue__wait_room(q, 60000);
	assert_true(clock_monotonic_ns() - before_ns < 30 * NS_PER_SEC);
	queue__free(q);
}

/* ---- three threads ---------------------------------------------------------------------------- */

#define RECORDS 20000

struct reading {
	struct queue *queue;
	unsigned cursor;
	__u64 cnt;
};

static void *read_all(void *arg)
{
	struct reading *r = arg;
	struct pollfd fd = { .fd = queue__fd(r->queue, r->cursor), .events = POLLIN };
	struct timespec pause = { .tv_nsec = 100000 };

	while (!queue__is_over(r->queue, r->cursor)) {
		if (queue__arm(r->queue, r->cursor))
			poll(&fd, 1, 1000);
		queue__disarm(r->queue, r->cursor);
		while (take(r->queue, r->cursor, r->cnt)) {
			/* One of them is slow. */
			if (++r->cnt % 64 == 0 && r->cursor)
				nanosleep(&pause, NULL);
		}
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct queue *q = queue__new(BOUND, 2);
	struct reading readings[2] = { { q, 0, 0 }, { q, 1, 0 } };
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readings[i]), 0);
	for (__u64 in = 0; in < RECORDS;) {
		if (put(q, in, 0))
			in++;
		else
			queue__wait_room(q, 50);
		queue__wake(q, 0);
		queue__wake(q, 1);
	}
	assert_in_range(queue__chunks(q), 1, CHUNKS);
	queue__close(q);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(readings[i].cnt, RECORDS);
	}
	queue__free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order_and_bounded),
		cmocka_unit_test(test_memory_goes_back),
		cmocka_unit_test(test_each_reader_at_its_own_pace),
		cmocka_unit_test(test_what_the_kernel_took_back_is_skipped),
		cmocka_unit_test(test_others_pass_over_what_is_marked),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_only_sleepers_are_woken),
		cmocka_unit_test(test_waiting_for_room_ends),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
