/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring.h - user space's side of the kernel's ring buffer: moves what is there into the queue, in as
 * few and as large pieces as possible.
 *
 * libbpf's own reader makes one callback per record and frees each at once; here a run of records
 * is one copy, after which the kernel has all of its room again.
 *
 * Must hold: only one thread moves; a record that is still being written, and all behind it, wait.
 */
#ifndef KRAIT_KERNEL_SAMPLER_RING_H
#define KRAIT_KERNEL_SAMPLER_RING_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct owner_books;
struct queue;
struct ring;

/* What one move found. */
struct ring_moved {
	size_t bytes;
	bool full; /* the queue had no room: there is more */
	bool task; /* a process or thread started, changed or ended */
	bool news; /* something other than samples */
	bool newcomer; /* a sample of a thread without a slot */
	bool deep; /* a sample that may be worth an anchor, or that reports on one */
	bool noted; /* a sample that says that an anchor has been met, or is over */
};

/*
 * map_fd: of the map, borrowed; bytes: its size. books: borrowed; owners get back what is moved.
 * anchor_worth: frames that a record must have to interest the placer of anchors. NULL and errno on
 * failure.
 */
struct ring *ring__new(int map_fd, size_t bytes, struct owner_books *books, __u32 anchor_worth);
void ring__free(struct ring *r);

/* Readable if the kernel has woken its reader since the last ring__woken(). */
int ring__fd(const struct ring *r);
void ring__woken(struct ring *r);

/* Moves everything; *ret describes it. */
void ring__move(struct ring *r, struct queue *queue, struct ring_moved *ret);

/* Where the next record will begin; and whether everything before that position has been moved. */
unsigned long ring__produced(const struct ring *r);
bool ring__has_moved(const struct ring *r, unsigned long pos);

#endif /* KRAIT_KERNEL_SAMPLER_RING_H */
