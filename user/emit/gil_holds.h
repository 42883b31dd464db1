/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gil_holds.h - works out from a thread's samples when it held its interpreter's lock and where it
 * was meanwhile.
 *
 * Evidence: a wait for the lock says to the nanosecond when the thread left after losing it and
 * when it returned to take it. A clock sample says whether the thread held it at that moment. A
 * wait for something else says so for its whole length. Between two neighbouring samples that say
 * "held", the thread held it all along: time without the lock would have samples of its own, of the
 * clock or of waits, at least one per millisecond or so. Next to a sample that says "not held", it
 * held the lock for half a period.
 *
 * Must hold: the holds of one thread are sorted and never overlap.
 */
#ifndef KRAIT_EMIT_GIL_HOLDS_H
#define KRAIT_EMIT_GIL_HOLDS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* A sample of a thread whose interpreter's lock is known. */
struct gil_sample {
	__u64 from_ns, to_ns; /* equal for a clock sample */
	__u64 period_ns;
	__u32 node, state;
	int pid, tid;
	int holder; /* of a wait for the lock: see profile_sample */
	bool off; /* off the CPU */
};

struct gil_hold {
	__u64 from_ns, to_ns;
	__u32 node; /* of the sample that gives the position */
	int tid;
};

struct gil_holds {
	struct gil_hold *list;
	size_t cnt, cap;
};

/*
 * Appends the holds of one thread. samples: its own, of one lock, sorted by to_ns. stretch: the
 * time a tick stands for, in periods; above 1 if ticks were missed. Returns 0 or -ENOMEM.
 */
int gil_holds_add(struct gil_holds *holds, const struct gil_sample *samples, size_t cnt,
		  double stretch) __attribute__((warn_unused_result));

#endif /* KRAIT_EMIT_GIL_HOLDS_H */
