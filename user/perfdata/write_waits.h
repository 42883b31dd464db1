/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * write_waits.h - around each sample of a wait the two switches that it lies between, as perf has them with
 * --switch-events: out when it began, in when it ended.
 *
 * They are those of the waits that have a sample, not of all. A wait may have two samples, what it waited for and
 * until a CPU was free: it is one pair of switches. Whether a second one follows is known only when the next sample
 * comes, so the switch in is written then, or at the end.
 *
 * Must hold: between a switch out and the switch in of its thread nothing else of that thread is written but the
 * samples of that wait.
 */
#ifndef KRAIT_PERFDATA_WRITE_WAITS_H
#define KRAIT_PERFDATA_WRITE_WAITS_H

#include <stdbool.h>

#include "perfdata/perf_writer.h"
#include "profile/profile.h"

/* All zero is none. */
struct write_waits {
	struct perf_stamp in; /* the switch that is still to be written */
	bool open;
};

/* To be called before each sample is written. 0 or -errno. */
int write_waits_before(struct write_waits *ww, struct perf_writer *w,
		       const struct profile_sample *s) __attribute__((warn_unused_result));
/* And after the last one. */
int write_waits_end(struct write_waits *ww, struct perf_writer *w)
	__attribute__((warn_unused_result));

#endif /* KRAIT_PERFDATA_WRITE_WAITS_H */
