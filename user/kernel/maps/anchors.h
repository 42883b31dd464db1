/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * anchors.h - user space's part of the map anchors: which threads have which anchor, and the
 * epochs.
 *
 * PyThreadState.last_profiled_frame is written in this order: anchors__begin() sets the epoch to 0
 * (from here on the program trusts nothing) and fills the fields; the writer
 * (process/probe/prober_serve.c) checks once more whose thread state it is, reads its sequence number, and
 * writes; anchors__complete() sets that number and a new epoch. If something has become wrong by
 * then (the frame is gone), the program finds out before it believes anything.
 *
 * Must hold: an epoch is used once, and only after the write that it belongs to. Only one thread
 * calls.
 */
#ifndef KRAIT_KERNEL_MAPS_ANCHORS_H
#define KRAIT_KERNEL_MAPS_ANCHORS_H

#include <linux/types.h>

#include "bpf/abi.h"

struct anchors;

/* fd: of the map anchors, borrowed as long as this lives; maps what is used of it. cnt: its entries. NULL and errno on failure. */
struct anchors *anchors__new(int fd, __u32 cnt);
void anchors__free(struct anchors *a);
/* How many there are. */
__u32 anchors__cnt(const struct anchors *a) __attribute__((nonnull));

/* An unused index; -ENOSPC when the owner (bpf/share.h) has its share, or what mmap() says. */
int anchors__take(struct anchors *a, unsigned owner);
/* Ends the anchor's current use and frees it. Writes nothing into the target. */
void anchors__give_back(struct anchors *a, int index);

/*
 * Begins a write that makes addrs[0] the anchor of that thread state. The rest are its callers
 * according to the last stack, down to the first entry frame. cnt 0: empties the slot.
 */
void anchors__begin(struct anchors *a, int index, __u64 tstate_addr, const __u64 *addrs, __u32 cnt);
/* The write is done. seq: the value of last_profiled_frame_seq right before. */
void anchors__complete(struct anchors *a, int index, __u64 seq);

/*
 * How many deltas the kernel has sent from this anchor, over all its owners, and their frames;
 * modulo 2^32.
 */
struct anchor_deltas {
	__u32 cnt, frames;
};
struct anchor_deltas anchors__deltas(const struct anchors *a, int index) __attribute__((nonnull));

/* Allows no deltas from here on, until the next write. */
void anchors__stop(struct anchors *a, int index);

/* How often that owner got none for lack of room. Call it only after all other threads have ended. */
__u64 anchors__refused(const struct anchors *a, unsigned owner) __attribute__((nonnull));

#endif /* KRAIT_KERNEL_MAPS_ANCHORS_H */
