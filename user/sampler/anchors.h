/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * anchors.h - user space's part of the map anchors: which threads have which, and the epochs.
 *
 * The order of a write of PyThreadState.last_profiled_frame: anchors__begin() sets the epoch to 0 (the
 * program trusts nothing from here on) and the fields; whoever writes (target/probe_anchor.h) looks
 * once more whose thread state it is, and at its sequence number, and writes; anchors__complete() sets
 * that number and a new epoch. What can be wrong by then (the frame is gone) is found by the program
 * before it believes anything.
 *
 * Must hold: an epoch is used once, and only after the write that it belongs to. One thread calls.
 */
#ifndef KRAIT_SAMPLER_ANCHORS_H
#define KRAIT_SAMPLER_ANCHORS_H

#include <linux/types.h>

#include "abi.h"

struct anchors;

/* fd of the map anchors, borrowed; maps it. NULL and errno on failure. */
struct anchors *anchors__new(int fd);
void anchors__free(struct anchors *a);

/* An unused index, or -ENOSPC when the owner (bpf/share.h) has its share. */
int anchors__take(struct anchors *a, unsigned owner);
/* Ends what it was used for and gives it back. Writes nothing into the target. */
void anchors__give_back(struct anchors *a, int index);

/*
 * A write begins that makes addrs[0] the anchor of that thread state; the rest are its callers as the
 * last stack had them, down to the first entry frame. cnt 0: it empties the slot.
 */
void anchors__begin(struct anchors *a, int index, __u64 tstate_addr, const __u64 *addrs, __u32 cnt);
/* It is done. seq: what last_profiled_frame_seq was right before. */
void anchors__complete(struct anchors *a, int index, __u64 seq);

/* How many deltas the kernel has sent by this anchor, whoever had it, and their frames; modulo 2^32. */
struct anchor_deltas {
	__u32 cnt, frames;
};
struct anchor_deltas anchors__deltas(const struct anchors *a, int index) __attribute__((nonnull));

/* No deltas from here on, until the next write. */
void anchors__stop(struct anchors *a, int index);

/* How often that owner got none for lack of room. Call from any thread after the others have ended. */
__u64 anchors__refused(const struct anchors *a, unsigned owner) __attribute__((nonnull));

#endif /* KRAIT_SAMPLER_ANCHORS_H */
