/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recording.h - describes a recording as a whole: filled once by the code that records, or read back
 * from its capture, and handed to every output. So none of them asks a clock or the machine it runs on.
 *
 * Must hold: 0 and NULL are unknown, and what is unknown is left out, never guessed.
 */
#ifndef KRAIT_PROFILE_RECORDING_H
#define KRAIT_PROFILE_RECORDING_H

#include <linux/types.h>

#include "util/event.h"

struct recording {
	const char *host, *kernel; /* where it was made */
	const char *command_line; /* of krait */
	__u64 began_ns; /* CLOCK_MONOTONIC, as samples have it */
	__s64 began_wall_ns; /* the same moment in ns since 1970 */
	double seconds; /* its length; 0 until it is over */
	unsigned long frequency; /* Hz asked for */
	/* What it counts, where that is known before the first sample; else the profile knows at last. */
	const struct event_spec *events;
	unsigned event_cnt;
};

/* What to add to times of samples to have ns since 1970; 0 unknown. */
static inline __s64 recording_wall_offset_ns(const struct recording *r)
{
	return r->began_wall_ns ? r->began_wall_ns - (__s64)r->began_ns : 0;
}

#endif /* KRAIT_PROFILE_RECORDING_H */
