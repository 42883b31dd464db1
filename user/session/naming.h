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

struct record_sample;
struct frame;
struct process;
struct profile;

/* All zeroes at first, but for the profile. */
struct naming {
	struct profile *profile; /* borrowed */
	unsigned logged;
};

/* The node of the frame below that of its caller; the caller's own where it shall not be seen. */
__u32 naming_node(struct naming *n, struct process *p, __u32 parent,
		  const struct record_sample *record, const struct frame *f);

#endif /* KRAIT_SESSION_NAMING_H */
