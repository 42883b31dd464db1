/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gil_holds.h - when a thread held its interpreter's lock, and where it was meanwhile, from its samples.
 *
 * What is known: a wait for the lock says to the nanosecond when the thread left, having lost it, and when it came
 * back, to take it. A sample of a clock says that it had it then, or had not; a wait for something else for how long.
 * Between two of these that say that it had the lock, with none between that says otherwise, it had it all along: time
 * without it would have samples of its own, of the clock or of waits, at least one for each millisecond or so. Towards
 * one that says otherwise it had it for half a period.
 *
 * Must hold: holds of one thread are in order and none overlaps another.
 */
#ifndef KRAIT_EMIT_GIL_HOLDS_H
#define KRAIT_EMIT_GIL_HOLDS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* A sample of a thread whose interpreter's lock is known. */
struct gil_sample {
	__u64 from_ns, to_ns; /* the same of a clock's */
	__u64 period_ns;
	__u32 node, state;
	int pid, tid;
	int holder; /* of a wait for the lock, as in profile_sample */
	bool off; /* the CPU */
};

struct gil_hold {
	__u64 from_ns, to_ns;
	__u32 node; /* of the sample that says where */
	int tid;
};

struct gil_holds {
	struct gil_hold *list;
	size_t cnt, cap;
};

/*
 * Appends those of one thread; samples: its own, of one lock, in the order of to_ns. stretch: how much longer than
 * its period the time is that a tick stands for, as some never came. 0 or -ENOMEM.
 */
int gil_holds_add(struct gil_holds *holds, const struct gil_sample *samples, size_t cnt,
		  double stretch) __attribute__((warn_unused_result));

#endif /* KRAIT_EMIT_GIL_HOLDS_H */
