/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * write_waits.h - writes the two switches around each sample of a wait, as perf does with
 * --switch-events: out when it began, in when it ended.
 *
 * Only sampled waits get switches, not all. A wait may have two samples (what it waited for, and
 * waiting for a free CPU) but is one pair of switches. Whether a second sample follows is known
 * only when the next sample comes, so the switch in is written then, or at the end.
 *
 * Must hold: between a switch out and the switch in of its thread no other record of that thread is
 * written than the samples of that wait.
 */
#ifndef KRAIT_PERFDATA_WRITE_WAITS_H
#define KRAIT_PERFDATA_WRITE_WAITS_H

#include <stdbool.h>

#include "perfdata/perf_writer.h"
#include "profile/profile.h"

/* All zero: nothing pending. */
struct write_waits {
	struct perf_stamp in; /* the switch still to be written */
	bool open;
};

/* Call before each sample is written. Returns 0 or -errno. */
int write_waits_before(struct write_waits *ww, struct perf_writer *w,
		       const struct profile_sample *s) __attribute__((warn_unused_result));
/* Call after the last sample. */
int write_waits_end(struct write_waits *ww, struct perf_writer *w)
	__attribute__((warn_unused_result));

#endif /* KRAIT_PERFDATA_WRITE_WAITS_H */
