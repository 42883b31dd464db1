/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recording.h - describes a recording as a whole: the code that records fills it once, or it is
 * read back from a capture, and every output gets it. So no output asks a clock or the machine it
 * runs on.
 *
 * Must hold: 0 and NULL mean unknown, and unknown facts are left out, never guessed.
 */
#ifndef KRAIT_PROFILE_RECORDING_H
#define KRAIT_PROFILE_RECORDING_H

#include <linux/types.h>

#include "base/system/event.h"

struct recording {
	const char *host, *kernel; /* where it was made */
	const char *command_line; /* of krait */
	__u64 began_ns; /* CLOCK_MONOTONIC, like samples */
	__s64 began_wall_ns; /* the same moment in ns since 1970 */
	double seconds; /* its length; 0 until it ends */
	unsigned long frequency; /* requested, in Hz */
	/*
	 * What it counts, if known before the first sample; otherwise the profile has it in the
	 * end.
	 */
	const struct event_spec *events;
	unsigned event_cnt;
};

/* Add this to times of samples to get ns since 1970; 0 unknown. */
static inline __s64 recording_wall_offset_ns(const struct recording *r)
{
	return r->began_wall_ns ? r->began_wall_ns - (__s64)r->began_ns : 0;
}

#endif /* KRAIT_PROFILE_RECORDING_H */
