/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reader.h - the thread that moves records from the ring buffer to the queue, and does nothing
 * else: so the kernel finds room whatever the others wait for.
 *
 * It sleeps until the kernel wakes it (a process event, a new thread, much to read) or a turn is
 * over. Turns are short while there are threads that nobody has seen before, so that they get their
 * anchors soon, and long while nothing is new.
 *
 * Must hold: it never waits for another process, a disk or the other threads, except for room in
 * the queue.
 */
#ifndef KRAIT_KERNEL_SAMPLER_READER_H
#define KRAIT_KERNEL_SAMPLER_READER_H

#include <stdbool.h>

struct queue;
struct reader;
struct ring;

/* The queue's cursors, and what their readers get. */
enum reader_cursor {
	CURSOR_MAIN, /* every record */
	/* records on which an anchor may depend; exists only if anchors are wanted */
	CURSOR_ANCHORS,
};

/* Starts the thread. Borrows both until reader__free(). NULL and errno on failure. */
struct reader *reader__new(struct ring *ring, struct queue *queue);
/* While on, no record is urgent: turns are long, and readers are woken once a turn. */
void reader__hush(struct reader *r, bool on);
/*
 * Moves what is in the ring now, without waiting for its turn; reader__has_moved(): that has been done. Waits for
 * nothing: readers may have to make room first.
 */
void reader__move(struct reader *r);
bool reader__has_moved(const struct reader *r);
/*
 * No more wanted records will come: the thread moves what is there, and what others are still
 * writing before that, closes the queue and ends. Does not wait for that: readers may have to make
 * room first.
 */
void reader__finish(struct reader *r);
/* Ends the thread at once, if it has not ended yet. */
void reader__free(struct reader *r);

#endif /* KRAIT_KERNEL_SAMPLER_READER_H */
