/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * placement.h - where in a thread's stack an anchor is worth writing, and when.
 *
 * Not at the leaf, which dies at once, but at the topmost frame that has survived a run of samples.
 * An anchor slides towards the root by itself and stays good there, so it is written anew only when
 * what lies above it has grown past a threshold, and not again soon when the last one did not pay.
 *
 * This is about cost alone: no decision made here can make a stack wrong.
 */
#ifndef KRAIT_STACK_PLACEMENT_H
#define KRAIT_STACK_PLACEMENT_H

#include <linux/types.h>
#include <stdbool.h>

struct stack;

/* Frames per second that an anchor must save: about 1 ms of BPF time and 480 KB, each second. */
#define PLACEMENT_WORTH_FRAMES 20000

/* One thread's state; all zeroes at first. */
struct placement {
	__u32 run; /* samples in this run */
	__u32 stable; /* root-side frames that survived all of the run */
	__u32 emitted; /* Σ frames that the records of the run carried */
	__u64 run_start_ns;
	__u32 samples_since_write;
	__u64 emitted_since_write; /* Σ frames that records carried */
	__u32 hoped; /* frames a record at which the last write pays */
	__u32 hoped_next; /* the same for the write that placement_observe() has asked for */
	bool unmet; /* written, and neither confirmed nor over yet */
	__u64 pause_ns; /* doubles while anchors do not pay */
	__u64 pause_until_ns;
};

/* What a sample showed. */
struct placement_sample {
	__u64 time_ns;
	const struct stack *stack;
	__u32 emitted; /* frames in the record */
	bool confirmed; /* it confirmed the anchor */
	bool over; /* it said that the anchor is no good any more */
};

/*
 * Takes in a sample. The index (root first) of the frame to anchor at, or -1. always: also where it
 * saves little (--anchors on).
 */
int placement_observe(struct placement *p, const struct placement_sample *sample, bool always);
/* Samples that carried so few frames that they were not looked at, and all those frames. */
void placement_skip(struct placement *p, __u32 samples, __u32 emitted);
/* An anchor was written (or was refused: then it is not tried again for a while). */
void placement_written(struct placement *p, __u64 now_ns);
void placement_pause(struct placement *p, __u64 now_ns, __u64 pause_ns);

#endif /* KRAIT_STACK_PLACEMENT_H */
