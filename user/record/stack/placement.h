/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * placement.h - where in a thread's stack an anchor is worth writing, and when.
 *
 * An anchor at the leaf would die at once, so it goes to the topmost frame that has survived a run
 * of samples. It slides towards the root by itself and stays valid there, so it is rewritten only
 * when the frames above it have grown past a threshold, and not soon after a write that did not
 * pay.
 *
 * This is only about cost: no decision made here can make a stack wrong.
 */
#ifndef KRAIT_RECORD_STACK_PLACEMENT_H
#define KRAIT_RECORD_STACK_PLACEMENT_H

#include <linux/types.h>
#include <stdbool.h>

struct stack;

/* Frames per second that an anchor must save: about 1 ms of BPF time and 480 KB. */
#define PLACEMENT_WORTH_FRAMES 20000

/* One thread's state; all zeroes initially. */
struct placement {
	__u32 run; /* samples in this run */
	__u32 stable; /* root-side frames that survived the whole run */
	__u32 emitted; /* frames carried by the records of this run */
	__u64 run_start_ns;
	__u32 samples_since_write;
	__u64 emitted_since_write; /* frames carried by all records since then */
	__u32 hoped; /* frames per record at which the last write pays */
	__u32 hoped_next; /* the same for the write that placement_observe() has requested */
	bool unmet; /* written, but neither confirmed nor over yet */
	__u64 pause_ns; /* doubles while anchors do not pay */
	__u64 pause_until_ns;
};

/* What a sample showed. */
struct placement_sample {
	__u64 time_ns;
	const struct stack *stack;
	__u32 emitted; /* frames in the record */
	bool confirmed; /* it confirmed the anchor */
	bool over; /* it said that the anchor is no longer usable */
};

/*
 * Takes in a sample. Returns the index (root first) of the frame to anchor at, or -1. always: even
 * if it saves little (--anchors on).
 */
int placement_observe(struct placement *p, const struct placement_sample *sample, bool always);
/* Accounts for samples that carried too few frames to be examined, and for all their frames. */
void placement_skip(struct placement *p, __u32 samples, __u32 emitted);
/* An anchor was written, or refused: then none is tried again for a while. */
void placement_written(struct placement *p, __u64 now_ns);

#endif /* KRAIT_RECORD_STACK_PLACEMENT_H */
