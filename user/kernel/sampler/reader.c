/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/sampler/reader.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "kernel/sampler/queue.h"
#include "kernel/sampler/ring.h"
#include "kernel/sampler/turns.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"

/* This much data wakes the readers before the turn is over. */
#define WAKE_BYTES (4 * QUEUE_CHUNK)
#define FULL_WAIT_MS 20
/*
 * Time at the end for what another CPU is still writing, with records behind it: process events
 * come until the very end. It takes microseconds, or as long as a hypervisor keeps that CPU
 * waiting.
 */
#define UNWRITTEN_NS (2000 * NS_PER_MS)
#define UNWRITTEN_LOOK_NS NS_PER_MS

enum order {
	ORDER_NONE,
	ORDER_FINISH,
	ORDER_END,
};

struct reader {
	struct ring *ring;
	struct queue *queue;
	pthread_t thread;
	int fd; /* readable when there is an order */
	enum order order;
	bool hushed;
	__u32 moves_asked, moves_done; /* by reader__move(), by the thread */
	/* used by the thread */
	struct turns turns;
	__u64 main_woken_ns;
	__u64 finish_ns; /* when it was told to finish; 0: not yet */
	unsigned long finish_pos; /* what comes after this position is not wanted */
};

static enum order order_of(const struct reader *r)
{
	return __atomic_load_n(&r->order, __ATOMIC_ACQUIRE);
}

static bool is_hushed(const struct reader *r)
{
	return __atomic_load_n(&r->hushed, __ATOMIC_RELAXED);
}

static void give_order(struct reader *r, enum order order)
{
	__u64 one = 1;

	__atomic_store_n(&r->order, order, __ATOMIC_RELEASE);
	/* A full counter is readable as well. */
	if (write(r->fd, &one, sizeof(one)) < 0)
		return;
}

/* Until the next request. */
static void forget_call(struct reader *r)
{
	__u64 calls;

	if (read(r->fd, &calls, sizeof(calls)) < 0)
		return;
}

/* Wakes those who have something to do now; what is not urgent can wait for more. */
static void wake_readers(struct reader *r, const struct ring_moved *m, __u64 now_ns)
{
	__u64 turn_ns = is_hushed(r) ? QUIET_TURN_NS : TURN_NS;
	bool due = now_ns >= r->main_woken_ns + turn_ns - NS_PER_MS;
	size_t waiting = queue__waiting(r->queue, CURSOR_MAIN);

	if (waiting && (due || (m->task && !is_hushed(r)) || waiting > WAKE_BYTES)) {
		r->main_woken_ns = now_ns;
		queue__wake(r->queue, CURSOR_MAIN);
	}
	/* Also if nothing is for it: what it has not passed takes up memory. */
	if (queue__cursors(r->queue) > CURSOR_ANCHORS &&
	    (m->deep || queue__waiting(r->queue, CURSOR_ANCHORS) > WAKE_BYTES))
		queue__wake(r->queue, CURSOR_ANCHORS);
}

/* A process event, or a stack that is deep for the first time, ends the wait. */
static void wait_for_work(struct reader *r, __u64 wait_ns)
{
	struct pollfd fds[] = {
		{ .fd = ring__fd(r->ring), .events = POLLIN },
		{ .fd = r->fd, .events = POLLIN },
	};
	struct timespec timeout = { .tv_nsec = (long)wait_ns };

	if (ppoll(fds, 2, &timeout, NULL) > 0 && fds[0].revents)
		ring__woken(r->ring);
}

static void note_finish(struct reader *r, enum order order)
{
	if (order == ORDER_NONE || r->finish_ns)
		return;
	r->finish_ns = clock_monotonic_ns();
	r->finish_pos = ring__produced(r->ring);
}

/* A record from before the order has not been moved, but may be soon. */
static bool may_come(const struct reader *r, enum order order, __u64 now_ns)
{
	return order == ORDER_FINISH && !ring__has_moved(r->ring, r->finish_pos) &&
	       now_ns < r->finish_ns + UNWRITTEN_NS;
}

static void *reader_main(void *arg)
{
	const struct timespec look = { .tv_nsec = UNWRITTEN_LOOK_NS };
	struct reader *r = arg;
	struct ring_moved moved;
	enum order order;
	__u64 now_ns, wait_ns;
	__u32 asked;
	bool more;

	do {
		forget_call(r);
		asked = __atomic_load_n(&r->moves_asked, __ATOMIC_ACQUIRE);
		/* Look before moving: then everything that was there when the order came is moved. */
		order = order_of(r);
		note_finish(r, order);
		ring__move(r->ring, r->queue, &moved);
		if (!moved.full)
			__atomic_store_n(&r->moves_done, asked, __ATOMIC_RELEASE);
		now_ns = clock_monotonic_ns();
		wait_ns = turns_next_ns(&r->turns, &moved, now_ns);
		if (is_hushed(r))
			wait_ns = QUIET_TURN_NS;
		wake_readers(r, &moved, now_ns);
		more = moved.full || may_come(r, order, now_ns);
		if (moved.full)
			queue__wait_room(r->queue, FULL_WAIT_MS);
		else if (order == ORDER_NONE)
			wait_for_work(r, wait_ns);
		else if (more)
			nanosleep(&look, NULL);
	} while (order != ORDER_END && (order == ORDER_NONE || more));
	queue__close(r->queue);
	return NULL;
}

struct reader *reader__new(struct ring *ring, struct queue *queue)
{
	struct reader *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return NULL;
	r->ring = ring;
	r->queue = queue;
	r->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = r->fd < 0 ? errno : pthread_create(&r->thread, NULL, reader_main, r);
	if (!err)
		return r;
	cleanup_close_(&r->fd);
	free(r);
	errno = err;
	return NULL;
}

void reader__hush(struct reader *r, bool on)
{
	__atomic_store_n(&r->hushed, on, __ATOMIC_RELAXED);
}

void reader__move(struct reader *r)
{
	__u64 one = 1;

	__atomic_fetch_add(&r->moves_asked, 1, __ATOMIC_RELEASE);
	if (write(r->fd, &one, sizeof(one)) < 0)
		return;
}

bool reader__has_moved(const struct reader *r)
{
	return __atomic_load_n(&r->moves_done, __ATOMIC_ACQUIRE) ==
	       __atomic_load_n(&r->moves_asked, __ATOMIC_RELAXED);
}

void reader__finish(struct reader *r)
{
	give_order(r, ORDER_FINISH);
}

void reader__free(struct reader *r)
{
	if (!r)
		return;
	give_order(r, ORDER_END);
	pthread_join(r->thread, NULL);
	close(r->fd);
	free(r);
}
