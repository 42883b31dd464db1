/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/sampler/queue.h"

#include <linux/bpf.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/data/cleanup.h"

/* Kept instead of freed: a turn's worth, which would only be faulted in again. */
#define SPARE_CHUNKS 4

struct chunk {
	struct chunk *next; /* set once this one is full */
	size_t end; /* bytes that readers may read */
	unsigned left; /* cursors that have not passed it yet */
	_Alignas(8) char data[];
};
#define CHUNK_ROOM (QUEUE_CHUNK - sizeof(struct chunk))

struct cursor {
	struct chunk *chunk;
	size_t pos;
	__u64 passed; /* bytes, over all chunks */
	int fd;
	bool armed; /* its reader sleeps, or is about to */
};

struct queue {
	unsigned cursor_cnt, chunk_max;
	struct chunk *last; /* used by the producer */
	__u64 put; /* bytes */
	bool closed;
	struct cursor cursors[QUEUE_CURSORS];

	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t freed;
	unsigned chunk_cnt, spare_cnt;
	bool wants_room;
	struct chunk *spares;
};

static struct chunk *map_chunk(void)
{
	void *memory =
		mmap(NULL, QUEUE_CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static struct chunk *take_chunk(struct queue *q)
{
	struct chunk *c = NULL;

	pthread_mutex_lock(&q->lock);
	if (q->spares) {
		c = q->spares;
		q->spares = c->next;
		q->spare_cnt--;
	} else if (q->chunk_cnt < q->chunk_max) {
		c = map_chunk();
		q->chunk_cnt += c != NULL;
	}
	q->wants_room = !c;
	pthread_mutex_unlock(&q->lock);
	if (!c)
		return NULL;
	c->next = NULL;
	c->end = 0;
	c->left = q->cursor_cnt;
	return c;
}

static void give_chunk(struct queue *q, struct chunk *c)
{
	pthread_mutex_lock(&q->lock);
	if (q->spare_cnt < SPARE_CHUNKS) {
		c->next = q->spares;
		q->spares = c;
		q->spare_cnt++;
	} else {
		munmap(c, QUEUE_CHUNK);
		q->chunk_cnt--;
	}
	if (q->wants_room)
		pthread_cond_signal(&q->freed);
	pthread_mutex_unlock(&q->lock);
}

static void init_lock(struct queue *q)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&q->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&q->freed, &attr);
	pthread_condattr_destroy(&attr);
}

struct queue *queue__new(size_t bytes_max, unsigned cursor_cnt)
{
	struct queue *q = calloc(1, sizeof(*q));
	bool failed;

	if (!q)
		return NULL;
	init_lock(q);
	q->cursor_cnt = cursor_cnt;
	q->chunk_max = bytes_max / QUEUE_CHUNK < 2 ? 2 : bytes_max / QUEUE_CHUNK;
	q->last = take_chunk(q);
	failed = !q->last;
	for (unsigned i = 0; i < QUEUE_CURSORS; i++) {
		q->cursors[i].chunk = q->last;
		q->cursors[i].fd = i < cursor_cnt ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
		failed = failed || (i < cursor_cnt && q->cursors[i].fd < 0);
	}
	if (!failed)
		return q;
	queue__free(q);
	return NULL;
}

static void unmap_from(struct chunk *c)
{
	while (c) {
		struct chunk *next = c->next;

		munmap(c, QUEUE_CHUNK);
		c = next;
	}
}

void queue__free(struct queue *q)
{
	struct cursor *slowest;

	if (!q)
		return;
	slowest = &q->cursors[0];
	for (unsigned i = 0; i < q->cursor_cnt; i++) {
		if (q->cursors[i].passed < slowest->passed)
			slowest = &q->cursors[i];
		cleanup_close_(&q->cursors[i].fd);
	}
	unmap_from(slowest->chunk);
	unmap_from(q->spares);
	pthread_cond_destroy(&q->freed);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

/* ---- the thread that puts in ------------------------------------------------------------------ */

void *queue__room(struct queue *q, size_t least, size_t *ret_room)
{
	struct chunk *c = q->last, *next;

	if (least > CHUNK_ROOM)
		return NULL;
	if (CHUNK_ROOM - c->end < least) {
		next = take_chunk(q);
		if (!next)
			return NULL;
		__atomic_store_n(&c->next, next, __ATOMIC_RELEASE);
		q->last = c = next;
	}
	*ret_room = CHUNK_ROOM - c->end;
	return c->data + c->end;
}

void queue__commit(struct queue *q, size_t bytes)
{
	__atomic_store_n(&q->last->end, q->last->end + bytes, __ATOMIC_RELEASE);
	__atomic_store_n(&q->put, q->put + bytes, __ATOMIC_SEQ_CST);
}

void queue__wait_room(struct queue *q, int timeout_ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (timeout_ms % 1000) * 1000000L;
	until.tv_sec += timeout_ms / 1000 + until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	pthread_mutex_lock(&q->lock);
	while (!q->spares && q->chunk_cnt >= q->chunk_max) {
		q->wants_room = true;
		if (pthread_cond_timedwait(&q->freed, &q->lock, &until))
			break;
	}
	pthread_mutex_unlock(&q->lock);
}

void queue__wake(struct queue *q, unsigned cursor)
{
	struct cursor *c = &q->cursors[cursor];
	__u64 one = 1;

	/* A full counter is readable as well. */
	if (__atomic_exchange_n(&c->armed, false, __ATOMIC_SEQ_CST) &&
	    write(c->fd, &one, sizeof(one)) < 0)
		return;
}

size_t queue__waiting(const struct queue *q, unsigned cursor)
{
	return q->put - __atomic_load_n(&q->cursors[cursor].passed, __ATOMIC_RELAXED);
}

void queue__close(struct queue *q)
{
	__atomic_store_n(&q->closed, true, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < q->cursor_cnt; i++)
		queue__wake(q, i);
}

/* ---- each reader ------------------------------------------------------------------------------ */

/* Goes to the next chunk, if the cursor has read all of this one. */
static bool move_on(struct queue *q, struct cursor *c)
{
	struct chunk *old = c->chunk, *next = __atomic_load_n(&old->next, __ATOMIC_ACQUIRE);

	/* A chunk's end is final once there is a next one. */
	if (!next || c->pos < __atomic_load_n(&old->end, __ATOMIC_ACQUIRE))
		return false;
	c->chunk = next;
	c->pos = 0;
	if (!__atomic_sub_fetch(&old->left, 1, __ATOMIC_ACQ_REL))
		give_chunk(q, old);
	return true;
}

static void advance(struct cursor *c, size_t bytes)
{
	c->pos += bytes;
	__atomic_store_n(&c->passed, c->passed + bytes, __ATOMIC_RELAXED);
}

const void *queue__peek(struct queue *q, unsigned cursor, size_t *ret_size)
{
	struct cursor *c = &q->cursors[cursor];
	const struct queue_head *head;

	for (;;) {
		while (c->pos == __atomic_load_n(&c->chunk->end, __ATOMIC_ACQUIRE)) {
			if (!move_on(q, c))
				return NULL;
		}
		head = (const struct queue_head *)(c->chunk->data + c->pos);
		if (cursor && head->skip)
			advance(c, head->skip);
		else if (head->size & BPF_RINGBUF_DISCARD_BIT)
			queue__pop(q, cursor);
		else
			break;
	}
	*ret_size = queue_record_size(head);
	return head + 1;
}

void queue__pop(struct queue *q, unsigned cursor)
{
	struct cursor *c = &q->cursors[cursor];

	advance(c, queue_stride((const struct queue_head *)(c->chunk->data + c->pos)));
}

bool queue__is_over(struct queue *q, unsigned cursor)
{
	/* In this order, so that everything put in before closing is seen. */
	return __atomic_load_n(&q->closed, __ATOMIC_SEQ_CST) &&
	       q->cursors[cursor].passed == __atomic_load_n(&q->put, __ATOMIC_SEQ_CST);
}

int queue__fd(const struct queue *q, unsigned cursor)
{
	return q->cursors[cursor].fd;
}

bool queue__arm(struct queue *q, unsigned cursor)
{
	struct cursor *c = &q->cursors[cursor];

	__atomic_store_n(&c->armed, true, __ATOMIC_SEQ_CST);
	if (c->passed == __atomic_load_n(&q->put, __ATOMIC_SEQ_CST) &&
	    !__atomic_load_n(&q->closed, __ATOMIC_SEQ_CST))
		return true;
	queue__disarm(q, cursor);
	return false;
}

void queue__disarm(struct queue *q, unsigned cursor)
{
	struct cursor *c = &q->cursors[cursor];
	__u64 cnt;

	/* No token to read if the reader has woken up by itself. */
	if (!__atomic_exchange_n(&c->armed, false, __ATOMIC_SEQ_CST) &&
	    read(c->fd, &cnt, sizeof(cnt)) < 0)
		return;
}

unsigned queue__cursors(const struct queue *q)
{
	return q->cursor_cnt;
}

unsigned queue__chunks(struct queue *q)
{
	unsigned cnt;

	pthread_mutex_lock(&q->lock);
	cnt = q->chunk_cnt;
	pthread_mutex_unlock(&q->lock);
	return cnt;
}
