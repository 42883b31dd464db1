/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * anchor_thread.h - the thread that places anchors: it reads records in parallel with the main
 * thread, merges those that matter, and has its own prober write anchors. However long names,
 * symbols or a disk take, a thread older than a second gets its anchor a few milliseconds after its
 * first samples.
 *
 * The main thread says which processes may be written to; everything else comes with the records.
 *
 * Must hold: the main thread never waits for this one, except briefly at the end.
 */
#ifndef KRAIT_RECORD_ANCHORS_ANCHOR_THREAD_H
#define KRAIT_RECORD_ANCHORS_ANCHOR_THREAD_H

#include <linux/types.h>

#include "record/anchors/anchoring.h"
#include "record/stack/stacks.h"

struct anchor_thread;
struct error;
struct input_writer;
struct record_sample;
struct sampler;

/*
 * mode: not ANCHOR_MODE_OFF. The sampler is borrowed, and has a queue with a cursor for anchors;
 * probers_alive, borrowed: prober__share(); inputs, borrowed: the log of answers, or NULL. Returns
 * NULL with *err filled.
 */
struct anchor_thread *anchor_thread__new(enum anchor_mode mode, struct sampler *sampler,
					 unsigned *probers_alive, struct input_writer *inputs,
					 struct error *err);
/* Ends the thread. Clears no anchors unless anchor_thread__finish() has been called. */
void anchor_thread__free(struct anchor_thread *t);

/* Threads of that process may get anchors from now on. Takes over its descriptors. */
void anchor_thread__admit(struct anchor_thread *t, const struct anchor_process *process);
/* The main thread has lost the base for that thread's deltas. */
void anchor_thread__reset(struct anchor_thread *t, const struct record_sample *record);

/* After sampler__stop(): reads the remaining records, clears the anchors, and ends the thread. */
void anchor_thread__finish(struct anchor_thread *t);

/* Call after anchor_thread__finish(). */
const struct anchoring_stats *anchor_thread__stats(const struct anchor_thread *t);

#endif /* KRAIT_RECORD_ANCHORS_ANCHOR_THREAD_H */
