/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * anchors.h - writes PyThreadState.last_profiled_frame, the only bytes that sampling ever writes into
 * a target, and krait's part of the map anchors.
 *
 * The order of a write: epoch 0 (the program trusts nothing from here on); the identity of the
 * thread state is read once more; the other fields; the slot in the target; the new epoch. What can
 * be wrong by then (the frame is gone) is found by the program before it believes anything.
 *
 * Must hold: nothing is written unless the thread state still belongs to the same thread and
 * interpreter; an epoch is used once.
 */
#ifndef KRAIT_SAMPLER_ANCHORS_H
#define KRAIT_SAMPLER_ANCHORS_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "abi.h"

struct anchors;

/* Whose slot: as the sample said. */
struct anchor_target {
	pid_t pid;
	__u64 tstate_addr;
	__u64 interp_addr;
	__u64 thread_ptr;
	const struct py_offsets *offsets;
};

/* fd of the map anchors, borrowed; maps it. NULL and errno on failure. */
struct anchors *anchors__new(int fd);
void anchors__free(struct anchors *a);

/* An unused index, or -ENOSPC when the owner (bpf/share.h) has its share. */
int anchors__take(struct anchors *a, unsigned owner);
/* Ends what it was used for and gives it back. Writes nothing into the target. */
void anchors__give_back(struct anchors *a, int index);

/*
 * Makes addrs[0] the thread's anchor; the rest are its callers as the last stack had them, down to
 * the first entry frame. cnt 0 empties the slot and turns the anchor off.
 *  -EBUSY   foreign_ok is false and somebody else's value is there
 *  -ESTALE  the thread state is another thread's by now
 *  -EPERM, -ESRCH, -EFAULT  the target's memory may not be read or written, or is gone
 */
int anchors__write(struct anchors *a, int index, const struct anchor_target *target,
		   const __u64 *addrs, __u32 cnt, bool foreign_ok)
	__attribute__((warn_unused_result));

/* No deltas from here on, until the next write. */
void anchors__stop(struct anchors *a, int index);

/* What is in the slot now. */
int anchors__read(const struct anchor_target *target, __u64 *ret_lpf_addr)
	__attribute__((warn_unused_result));

#endif /* KRAIT_SAMPLER_ANCHORS_H */
