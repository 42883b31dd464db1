/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_reader.c - what is in the ring when a recording ends comes out of the queue, even behind a
 * record that another CPU is still writing. The ring is a file with its layout; the test plays the
 * kernel.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "kernel/maps/owner_books.h"
#include "kernel/sampler/queue.h"
#include "kernel/sampler/reader.h"
#include "kernel/sampler/ring.h"
#include "base/system/clock.h"

#define BYTES (64UL << 10)
/* Longer than the reader waits for a record that is never finished. */
#define PATIENCE_NS (20000 * NS_PER_MS)

static struct owner_books *books;
static struct ring *ring;
static struct queue *queue;
static struct reader *reader;
static char *file; /* consumed, produced, data */
static size_t page;
static int fd;

/* No event says that there are records: the reader looks by itself. */
int epoll_ctl(int epfd, int op, int watched, struct epoll_event *event)
{
	return 0;
}

static int setup(void **state)
{
	size_t size;

	page = (size_t)sysconf(_SC_PAGESIZE);
	size = 2 * page + 2 * BYTES;
	fd = memfd_create("ring", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)size))
		return -1;
	file = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	books = calloc(1, 1 << 20);
	queue = queue__new(4 * QUEUE_CHUNK, 1);
	ring = file == MAP_FAILED ? NULL : ring__new(fd, BYTES, books, 1000);
	reader = ring && queue ? reader__new(ring, queue) : NULL;
	return !reader;
}

static int teardown(void **state)
{
	reader__free(reader);
	ring__free(ring);
	queue__free(queue);
	free(books);
	munmap(file, 2 * page + 2 * BYTES);
	close(fd);
	return 0;
}

static unsigned long *produced(void)
{
	return (unsigned long *)(file + page);
}

/* Puts a record with that number, finished or not. Returns its place. */
static struct queue_head *put(__u32 number, bool unwritten)
{
	struct queue_head *head = (struct queue_head *)(file + 2 * page + *produced());
	const struct record_header header = { .type = RECORD_SAMPLE, .size = number };

	memcpy(head + 1, &header, sizeof(header));
	__atomic_store_n(&head->size,
			 (__u32)sizeof(header) | (unwritten ? BPF_RINGBUF_BUSY_BIT : 0U),
			 __ATOMIC_RELEASE);
	__atomic_store_n(produced(), *produced() + queue_stride(head), __ATOMIC_RELEASE);
	return head;
}

static void written(struct queue_head *head)
{
	__atomic_store_n(&head->size, (__u32)sizeof(struct record_header), __ATOMIC_RELEASE);
}

static void take(__u32 number)
{
	__u64 end_ns = clock_monotonic_ns() + PATIENCE_NS;
	const struct record_header *header;
	size_t size;

	while (!(header = queue__peek(queue, CURSOR_MAIN, &size)) && clock_monotonic_ns() < end_ns)
		usleep(1000);
	assert_non_null(header);
	assert_int_equal(header->size, number);
	queue__pop(queue, CURSOR_MAIN);
}

/* Tells whether it ends within so much time. */
static bool is_over(__u64 wait_ns)
{
	__u64 end_ns = clock_monotonic_ns() + wait_ns;

	while (!queue__is_over(queue, CURSOR_MAIN) && clock_monotonic_ns() < end_ns)
		usleep(1000);
	return queue__is_over(queue, CURSOR_MAIN);
}

static void what_is_there_is_moved_at_the_end(void **state)
{
	put(1, false);
	put(2, false);
	reader__finish(reader);
	take(1);
	take(2);
	assert_true(is_over(PATIENCE_NS));
}

/*
 * A caller gets the pending records on request, before the turn ends and as often as it asks, and
 * the reader goes on.
 */
static void what_is_there_is_moved_when_it_is_asked_for(void **state)
{
	for (__u32 i = 1; i <= 3; i++) {
		__u64 end_ns = clock_monotonic_ns() + PATIENCE_NS;
		size_t size;

		assert_true(reader__has_moved(reader));
		put(i, false);
		reader__move(reader);
		while (!reader__has_moved(reader) && clock_monotonic_ns() < end_ns)
			usleep(1000);
		assert_true(reader__has_moved(reader));
		assert_non_null(queue__peek(queue, CURSOR_MAIN, &size));
		take(i);
	}
	put(4, false);
	reader__finish(reader);
	take(4);
	assert_true(is_over(PATIENCE_NS));
}

static void what_is_behind_an_unwritten_record_is_not_lost(void **state)
{
	struct queue_head *late;

	put(1, false);
	late = put(2, true);
	put(3, false);
	reader__finish(reader);
	take(1);
	assert_false(is_over(50 * NS_PER_MS));
	written(late);
	take(2);
	take(3);
	assert_true(is_over(PATIENCE_NS));
}

static void what_is_never_written_does_not_hold_up_the_end(void **state)
{
	put(1, false);
	put(2, true);
	reader__finish(reader);
	take(1);
	assert_true(is_over(PATIENCE_NS));
}

/* Process events continue after the samples have ended. */
static void what_comes_afterwards_is_not_waited_for(void **state)
{
	struct queue_head *late = put(1, true);
	__u64 begin_ns;

	reader__finish(reader);
	assert_false(is_over(50 * NS_PER_MS));
	put(2, true);
	begin_ns = clock_monotonic_ns();
	written(late);
	take(1);
	assert_true(is_over(PATIENCE_NS));
	assert_true(clock_monotonic_ns() - begin_ns < 1500 * NS_PER_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_there_is_moved_at_the_end, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_there_is_moved_when_it_is_asked_for, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_behind_an_unwritten_record_is_not_lost,
						setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_never_written_does_not_hold_up_the_end,
						setup, teardown),
		cmocka_unit_test_setup_teardown(what_comes_afterwards_is_not_waited_for, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
