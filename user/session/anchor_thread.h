/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * anchor_thread.h - the thread that places anchors: reads the records beside the main thread, merges
 * what matters, and has anchors written by a prober of its own. Whatever names, symbols or a disk take,
 * a thread older than a second has its anchor a few milliseconds after its first samples.
 *
 * The main thread says which processes may be written to; everything else comes with the records.
 *
 * Must hold: the main thread never waits for this one, but at the end and then not for long.
 */
#ifndef KRAIT_SESSION_ANCHOR_THREAD_H
#define KRAIT_SESSION_ANCHOR_THREAD_H

#include <linux/types.h>

#include "session/anchoring.h"
#include "stack/stacks.h"

struct anchor_thread;
struct error;
struct input_writer;
struct record_sample;
struct sampler;

/*
 * Not of ANCHOR_MODE_OFF. The sampler is borrowed, and has a queue with a cursor for anchors; probers_alive,
 * borrowed: prober__share(); inputs, borrowed: where answers are logged, or NULL. NULL with *err filled.
 */
struct anchor_thread *anchor_thread__new(enum anchor_mode mode, struct sampler *sampler,
					 unsigned *probers_alive, struct input_writer *inputs,
					 struct error *err);
/* Ends it, without clearing anything where anchor_thread__finish() has not been called. */
void anchor_thread__free(struct anchor_thread *t);

/* Threads of that process may get anchors from now on. Takes over its descriptors. */
void anchor_thread__admit(struct anchor_thread *t, const struct anchor_process *process);
/* The main thread has no base for that thread's deltas any more. */
void anchor_thread__reset(struct anchor_thread *t, const struct record_sample *record);

/* After sampler__stop(): reads what is left, clears the anchors, ends. */
void anchor_thread__finish(struct anchor_thread *t);

/* Once it has finished. */
const struct anchoring_stats *anchor_thread__stats(const struct anchor_thread *t);

#endif /* KRAIT_SESSION_ANCHOR_THREAD_H */
