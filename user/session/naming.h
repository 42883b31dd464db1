/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * naming.h - a Python frame as it was sampled becomes a node of the profile: its function's name and
 * file, its line.
 *
 * Must hold: a frame that cannot be named for sure is an unknown function, and counted.
 */
#ifndef KRAIT_SESSION_NAMING_H
#define KRAIT_SESSION_NAMING_H

#include <linux/types.h>
#include <stdbool.h>

struct record_sample;
struct frame;
struct process;
struct profile;

/* All zeroes at first, but for the profile. */
struct naming {
	struct profile *profile; /* borrowed */
	/* One bit for each node of the profile: a function on the way there is unknown. */
	__u8 *unknown;
	__u32 cap; /* nodes */
	unsigned logged;
};

void naming_clear(struct naming *n);

/* The node of the frame below that of its caller; the caller's own where it shall not be seen. */
__u32 naming_node(struct naming *n, struct process *p, __u32 parent,
		  const struct record_sample *record, const struct frame *f);
/* Is one of the functions on the way to that node unknown? */
bool naming_is_unknown(const struct naming *n, __u32 node);

#endif /* KRAIT_SESSION_NAMING_H */
