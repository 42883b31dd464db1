/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reader.h - the thread that empties the ring buffer into the queue, and does nothing else: whatever
 * the others wait for, the kernel finds room.
 *
 * It sleeps until the kernel wakes it (a process event, a new thread, much to read) or a turn is over.
 * Turns are short while there are threads that nobody has seen before: they shall get their anchors
 * soon. They are long while nothing is new.
 *
 * Must hold: it calls nothing that waits for another process, a disk or the other threads, but for
 * room in the queue.
 */
#ifndef KRAIT_SAMPLER_READER_H
#define KRAIT_SAMPLER_READER_H

#include <stdbool.h>

struct queue;
struct reader;
struct ring;

/* Who reads what, of the queue's cursors. */
enum reader_cursor {
	CURSOR_MAIN, /* every record */
	CURSOR_ANCHORS, /* what an anchor may depend on; there where anchors are wanted */
};

/* Starts the thread. Borrows both until reader__free(). NULL and errno on failure. */
struct reader *reader__new(struct ring *ring, struct queue *queue);
/* While that is on, no record is urgent: turns are long, and their readers are woken once a turn. */
void reader__hush(struct reader *r, bool on);
/*
 * No more records of interest come: it moves what is there, and what others are still writing before that, closes the
 * queue and ends. Does not wait for that: there may have to be room first.
 */
void reader__finish(struct reader *r);
/* Ends it at once where it has not ended yet. */
void reader__free(struct reader *r);

#endif /* KRAIT_SAMPLER_READER_H */
