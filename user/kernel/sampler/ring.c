/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/sampler/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "kernel/maps/owner_books.h"
#include "kernel/sampler/queue.h"
#include "kernel/sampler/record.h"
#include "base/data/cleanup.h"

struct ring {
	size_t page, bytes;
	unsigned long *consumed; /* on a page of its own, which we write */
	const unsigned long *produced; /* the kernel's, before the data */
	const char *data; /* mapped twice in a row, so that no record wraps around */
	struct owner_books *books;
	__u32 anchor_worth;
	int fd; /* epoll: readable only when the kernel wakes us, not whenever there is a record */
};

static int map_pages(struct ring *r, int map_fd)
{
	void *own = mmap(NULL, r->page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0), *theirs;

	if (own == MAP_FAILED)
		return -errno;
	r->consumed = own;
	theirs = mmap(NULL, r->page + 2 * r->bytes, PROT_READ, MAP_SHARED, map_fd, (off_t)r->page);
	if (theirs == MAP_FAILED)
		return -errno;
	r->produced = theirs;
	r->data = (const char *)theirs + r->page;
	return 0;
}

static int watch(struct ring *r, int map_fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	r->fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->fd < 0 || epoll_ctl(r->fd, EPOLL_CTL_ADD, map_fd, &event))
		return -errno;
	return 0;
}

struct ring *ring__new(int map_fd, size_t bytes, struct owner_books *books, __u32 anchor_worth)
{
	struct ring *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return NULL;
	r->page = (size_t)sysconf(_SC_PAGESIZE);
	r->bytes = bytes;
	r->books = books;
	r->anchor_worth = anchor_worth;
	r->fd = -1;
	err = map_pages(r, map_fd);
	if (!err)
		err = watch(r, map_fd);
	if (!err)
		return r;
	ring__free(r);
	errno = -err;
	return NULL;
}

void ring__free(struct ring *r)
{
	if (!r)
		return;
	if (r->consumed)
		munmap(r->consumed, r->page);
	if (r->produced)
		munmap((void *)r->produced, r->page + 2 * r->bytes);
	cleanup_close_(&r->fd);
	free(r);
}

int ring__fd(const struct ring *r)
{
	return r->fd;
}

void ring__woken(struct ring *r)
{
	struct epoll_event event;

	epoll_wait(r->fd, &event, 1, 0);
}

static const struct queue_head *head_at(const struct ring *r, unsigned long pos)
{
	return (const struct queue_head *)(r->data + (pos & (r->bytes - 1)));
}

/* Is the record at pos complete, that is, no longer being written? */
static bool is_there(const struct ring *r, unsigned long pos)
{
	return !(__atomic_load_n(&head_at(r, pos)->size, __ATOMIC_ACQUIRE) & BPF_RINGBUF_BUSY_BIT);
}

/*
 * Bytes that owners have got back. Most consecutive records have the same owner, so they are summed
 * up first: each update takes the cache line away from the producing CPU.
 */
struct refund {
	__u32 owner;
	__u64 bytes;
};

static void pay(const struct ring *r, struct refund *refund)
{
	if (refund->bytes)
		owner_books_consumed(r->books, refund->owner, refund->bytes);
	refund->bytes = 0;
}

static void note_owner(const struct ring *r, struct refund *refund, __u32 owner, size_t size)
{
	if (owner != refund->owner)
		pay(r, refund);
	refund->owner = owner;
	refund->bytes += share_ring_bytes(size);
}

/* Checks little: the readers find malformed records. True if the placer of anchors wants it. */
static bool note(const struct ring *r, struct ring_moved *m, struct refund *refund,
		 const struct queue_head *head)
{
	const struct record_header *header = (const struct record_header *)(head + 1);
	const struct record_sample *record = (const struct record_sample *)header;
	__u32 size = queue_record_size(head);
	bool for_anchors;

	if (size < sizeof(*header))
		return false;
	note_owner(r, refund, header->owner, size);
	if (size < sizeof(*record) || header->type != RECORD_SAMPLE) {
		m->task = m->task || record_is_task(header->type);
		m->news = true;
		return record_is_task(header->type);
	}
	m->newcomer = m->newcomer || !(record->flags & SAMPLE_HAS_SLOT);
	for_anchors = record_is_for_anchors(record, r->anchor_worth);
	/* A confirmation that nothing has changed is not urgent. */
	m->deep = m->deep || (for_anchors && record->anchor != ANCHOR_NOTE_AUDIT);
	m->noted = m->noted ||
		   (record->anchor > ANCHOR_NOTE_DELTA && record->anchor != ANCHOR_NOTE_AUDIT);
	return for_anchors;
}

/*
 * Copies whole records from pos on, at most room bytes, and marks runs of those that only the first
 * reader wants. Returns the bytes copied.
 */
static size_t copy(const struct ring *r, unsigned long pos, unsigned long end, char *to,
		   size_t room, struct ring_moved *m)
{
	struct queue_head *run = NULL;
	struct refund refund = { 0 };
	size_t bytes = 0, stride;

	while (pos + bytes < end && is_there(r, pos + bytes)) {
		struct queue_head *head = (struct queue_head *)(to + bytes);

		stride = queue_stride(head_at(r, pos + bytes));
		if (bytes + stride > room)
			break;
		memcpy(head, head_at(r, pos + bytes), stride);
		head->skip = 0;
		if (note(r, m, &refund, head))
			run = NULL;
		else
			queue_skip(run ? run : (run = head), stride);
		bytes += stride;
	}
	pay(r, &refund);
	return bytes;
}

void ring__move(struct ring *r, struct queue *queue, struct ring_moved *ret)
{
	unsigned long pos = *r->consumed, end = __atomic_load_n(r->produced, __ATOMIC_ACQUIRE);

	*ret = (struct ring_moved){ 0 };
	while (pos < end && is_there(r, pos)) {
		size_t room, bytes;
		void *to = queue__room(queue, queue_stride(head_at(r, pos)), &room);

		ret->full = !to;
		if (!to)
			return;
		bytes = copy(r, pos, end, to, room, ret);
		pos += bytes;
		__atomic_store_n(r->consumed, pos, __ATOMIC_RELEASE);
		queue__commit(queue, bytes);
		ret->bytes += bytes;
		end = __atomic_load_n(r->produced, __ATOMIC_ACQUIRE);
	}
}

unsigned long ring__produced(const struct ring *r)
{
	return __atomic_load_n(r->produced, __ATOMIC_ACQUIRE);
}

bool ring__has_moved(const struct ring *r, unsigned long pos)
{
	return *r->consumed >= pos;
}
