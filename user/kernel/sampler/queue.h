/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queue.h - records on their way from the ring buffer to their readers: in order, bounded, each
 * reader at its own pace.
 *
 * One producer thread puts records in, in the kernel's framing (a header of 8 bytes, then the
 * record, padded to 8 bytes). Each cursor belongs to one reader thread: the first reads all
 * records, the others skip those marked as useless to them. Memory comes in chunks, as needed, and
 * is freed when every cursor has passed.
 *
 * Must hold: no record is changed, dropped or reordered; never more than the bound is held; a slow
 * reader delays only the producer, never another reader.
 */
#ifndef KRAIT_KERNEL_SAMPLER_QUEUE_H
#define KRAIT_KERNEL_SAMPLER_QUEUE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* Larger than any record (abi.h). */
#define QUEUE_CHUNK (256UL << 10)
#define QUEUE_CURSORS 2

struct queue;

/* Header of a record, as the kernel's ring buffer has it. */
struct queue_head {
	/* of the record, without this header and the padding; flags in the bits above */
	__u32 size;
	__u32 skip; /* bytes from here on that cursors other than the first skip; 0: none */
};

static inline __u32 queue_record_size(const struct queue_head *head)
{
	return head->size & ~(3U << 30);
}

/* Bytes from one header to the next. */
static inline size_t queue_stride(const struct queue_head *head)
{
	return (sizeof(*head) + queue_record_size(head) + 7) / 8 * 8;
}

/*
 * Marks that many more bytes from this record on, before they are committed, as useless to all
 * cursors but the first.
 */
static inline void queue_skip(struct queue_head *head, size_t bytes)
{
	head->skip += (__u32)bytes;
}

/* bytes_max: rounded down to chunks, at least two. cursor_cnt: 1 to QUEUE_CURSORS. NULL and errno. */
struct queue *queue__new(size_t bytes_max, unsigned cursor_cnt);
/* Call when no thread uses it any more. */
void queue__free(struct queue *q);

/* ---- the producer ------------------------------------------------------------------ */

/*
 * Room for the next records: *ret_room contiguous bytes, at least `least`. NULL: the bound is
 * reached, or no memory.
 */
void *queue__room(struct queue *q, size_t least, size_t *ret_room);
/* Publishes that many bytes: whole records with their headers, which say what to skip. */
void queue__commit(struct queue *q, size_t bytes);
/* Sleeps until a reader has freed memory, or for that many milliseconds. */
void queue__wait_room(struct queue *q, int timeout_ms);
/* Wakes that cursor's reader if it sleeps on its descriptor. */
void queue__wake(struct queue *q, unsigned cursor);
/* Bytes that the reader has not passed yet. */
size_t queue__waiting(const struct queue *q, unsigned cursor);
/* Nothing more will come. Wakes all readers. */
void queue__close(struct queue *q);

/* ---- each reader ------------------------------------------------------------------------------ */

/* The record at the cursor, valid until queue__pop(); NULL: none for now. */
const void *queue__peek(struct queue *q, unsigned cursor, size_t *ret_size);
void queue__pop(struct queue *q, unsigned cursor);
/* Everything has been read, and nothing more will come. */
bool queue__is_over(struct queue *q, unsigned cursor);
/* Readable after queue__wake(); owned by the queue. */
int queue__fd(const struct queue *q, unsigned cursor);
/*
 * Call before sleeping on the descriptor: true if there is nothing to read; then the producer wakes
 * this reader when it sees fit.
 */
bool queue__arm(struct queue *q, unsigned cursor);
/* Call after sleeping. */
void queue__disarm(struct queue *q, unsigned cursor);

unsigned queue__cursors(const struct queue *q);
/* Chunks held now: for tests and for monitoring memory. */
unsigned queue__chunks(struct queue *q);

#endif /* KRAIT_KERNEL_SAMPLER_QUEUE_H */
