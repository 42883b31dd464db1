/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queue.h - records on their way from the ring buffer to those who read them: in order, bounded, and
 * each reader at its own pace.
 *
 * One thread puts records in, in the kernel's framing (a header of 8 bytes, then the record, padded to
 * 8 bytes); each cursor belongs to one thread, the first to one that reads all of them, the others to
 * those who pass over what is marked as of no use to them. Memory comes in chunks, as many as are needed,
 * and goes back when every cursor has passed.
 *
 * Must hold: no record is changed, dropped or overtaken; never more than the bound is held; a slow
 * reader delays the one that puts in, never another reader.
 */
#ifndef KRAIT_SAMPLER_QUEUE_H
#define KRAIT_SAMPLER_QUEUE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* Larger than every record (abi.h). */
#define QUEUE_CHUNK (256UL << 10)
#define QUEUE_CURSORS 2

struct queue;

/* Header of a record, as the kernel's ring buffer has it. */
struct queue_head {
	__u32 size; /* of the record, without this header and the padding; flags above it */
	__u32 skip; /* bytes from here on that cursors other than the first pass over; 0 none */
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
 * So many bytes more from this record on, before they are committed, are of use to the first cursor alone.
 */
static inline void queue_skip(struct queue_head *head, size_t bytes)
{
	head->skip += (__u32)bytes;
}

/* bytes_max: rounded down to chunks, at least two. cursor_cnt: 1 to QUEUE_CURSORS. NULL and errno. */
struct queue *queue__new(size_t bytes_max, unsigned cursor_cnt);
/* No thread uses it any more. */
void queue__free(struct queue *q);

/* ---- the thread that puts in ------------------------------------------------------------------ */

/*
 * Where the next records go: room for *ret_room bytes in one piece, at least `least` of them. NULL
 * while the bound is reached or there is no memory.
 */
void *queue__room(struct queue *q, size_t least, size_t *ret_room);
/* That many bytes, whole records with their headers, are there now; each header says what to skip. */
void queue__commit(struct queue *q, size_t bytes);
/* Sleeps until a reader has returned memory, or for that many milliseconds. */
void queue__wait_room(struct queue *q, int timeout_ms);
/* Wakes that cursor's reader if it sleeps on its descriptor. */
void queue__wake(struct queue *q, unsigned cursor);
/* Bytes that the reader has not passed yet. */
size_t queue__waiting(const struct queue *q, unsigned cursor);
/* Nothing comes any more. Wakes all readers. */
void queue__close(struct queue *q);

/* ---- each reader ------------------------------------------------------------------------------ */

/* The record at the cursor, valid until queue__pop(); NULL when there is none now. */
const void *queue__peek(struct queue *q, unsigned cursor, size_t *ret_size);
void queue__pop(struct queue *q, unsigned cursor);
/* All has been read, and nothing will come. */
bool queue__is_over(struct queue *q, unsigned cursor);
/* Readable after queue__wake(); owned by the queue. */
int queue__fd(const struct queue *q, unsigned cursor);
/*
 * Before sleeping on the descriptor: true if there is nothing to read, and whoever puts something in
 * will wake this reader if it sees fit.
 */
bool queue__arm(struct queue *q, unsigned cursor);
/* After it. */
void queue__disarm(struct queue *q, unsigned cursor);

unsigned queue__cursors(const struct queue *q);
/* Chunks held now: for tests, and for those who watch memory. */
unsigned queue__chunks(struct queue *q);

#endif /* KRAIT_SAMPLER_QUEUE_H */
