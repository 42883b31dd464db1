/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * anchoring.h - which threads get anchors: samples come in, writes go out.
 *
 * Decisions are made while records are read; a write is requested, and its answer comes later
 * (anchor_thread.h). A thread that refuses (no permission, gone) is left alone, and so are all
 * threads of a process whose memory stops responding. If somebody else writes the same slot, krait
 * empties it, watches for a while whether it stays empty, and only then goes on, with growing
 * pauses.
 *
 * Must hold: nothing is written to a thread younger than a second, nor to a process that is not
 * admitted or not dumpable; what krait wrote is cleared at the end. Only one thread calls.
 */
#ifndef KRAIT_RECORD_ANCHORS_ANCHORING_H
#define KRAIT_RECORD_ANCHORS_ANCHORING_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "process/probe/prober.h"

struct anchored;
struct anchoring;
struct anchors;
struct frame;

enum anchor_mode {
	ANCHOR_MODE_AUTO, /* where it pays off */
	ANCHOR_MODE_ON, /* wherever the interpreter supports it */
	ANCHOR_MODE_OFF,
};

struct anchoring_stats {
	__u64 writes, refused;
	__u64 slid, foreign; /* anchors that ended for that reason */
	__u64 threads; /* currently known */
};

/* A process whose threads may get anchors, as it was when it was identified. */
struct anchor_process {
	pid_t pid;
	__u64 start_ns; /* as in struct process */
	__u64 since_ns; /* CLOCK_MONOTONIC: earlier samples may belong to another image */
	struct py_offsets offsets;
	__u64 creds_digest;
	int dir, mem; /* /proc/PID, and its memory at that time */
};

/*
 * How a slot is read and written: by a prober, or by a test. Semantics of prober__ask() and
 * prober__forget().
 */
struct anchor_access {
	int (*ask)(void *ctx, const struct probe_request *r, const int fds[2], probe_done_fn done,
		   void *done_ctx);
	void (*forget)(void *ctx, const void *done_ctx);
	/* As sampler__add_thread(), sampler__remove_thread() and sampler__tie_anchor(). */
	int (*add)(void *ctx, const struct record_sample *record, __u32 *slot);
	void (*remove)(void *ctx, __u32 slot, pid_t tid, __u64 start_ns);
	int (*tie)(void *ctx, __u32 slot, pid_t tid, __u64 start_ns, __u32 anchor);
	void *ctx;
};

/* anchors: borrowed. NULL and errno on failure. */
struct anchoring *anchoring__new(enum anchor_mode mode, struct anchors *anchors,
				 const struct anchor_access *access);
void anchoring__free(struct anchoring *a);

/* Threads of the process may get anchors from now on. Takes over the descriptors in any case. */
void anchoring__admit(struct anchoring *a, const struct anchor_process *process);
/*
 * Takes in a sample. Does not merge one that no anchor would make shorter and that brings no news
 * of one.
 */
void anchoring__sample(struct anchoring *a, const struct record_sample *record,
		       const struct frame *frames);
/* The base of the thread's deltas is lost: allow no more until there is a new one. */
void anchoring__reset(struct anchoring *a, pid_t tid, __u64 start_ns);
/* Sends the writes decided on so far. */
void anchoring__flush(struct anchoring *a);

/*
 * Forgets a thread, process or image that is gone, as the record of the ring says. A process that was
 * admitted afterwards stays: it may have another image by now.
 */
struct record_task;
void anchoring__task(struct anchoring *a, const struct record_task *record);
/*
 * Asks for krait's values to be cleared, so that targets stop maintaining anchors that nobody reads.
 * Returns true while answers are pending: call it again then.
 */
bool anchoring__detach(struct anchoring *a);

const struct anchoring_stats *anchoring__stats(const struct anchoring *a);

#endif /* KRAIT_RECORD_ANCHORS_ANCHORING_H */
