/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lasting.h - waits seen while they last: remembers how much of each has been counted, so that only
 * the rest counts when it is seen again or ends.
 *
 * Must hold: each nanosecond of a wait counts once; memory is bounded by the number of waits in the
 * last looks.
 */
#ifndef KRAIT_CMD_TOP_LASTING_H
#define KRAIT_CMD_TOP_LASTING_H

#include <stdbool.h>

#include "profile/profile.h"

struct lasting;

/* Returns NULL if out of memory. */
struct lasting *lasting__new(void) __attribute__((warn_unused_result));
void lasting__free(struct lasting *l);

/* Begins a look: samples until its end are waits in progress. */
void lasting__begin(struct lasting *l) __attribute__((nonnull));
void lasting__end(struct lasting *l) __attribute__((nonnull));
/*
 * For a sample of time off the CPU: reduces its weight to what has not been counted yet. Returns
 * false if nothing is left.
 */
bool lasting__count(struct lasting *l, struct profile_sample *sample)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_CMD_TOP_LASTING_H */
