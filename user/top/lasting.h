/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lasting.h - waits that are seen while they last: how much of each has been counted by then, so that the rest alone
 * counts when it is seen again, or is over.
 *
 * Must hold: each nanosecond of a wait counts once; memory is bounded by the waits that were there at the last looks.
 */
#ifndef KRAIT_TOP_LASTING_H
#define KRAIT_TOP_LASTING_H

#include <stdbool.h>

#include "profile/profile.h"

struct lasting;

/* NULL: out of memory. */
struct lasting *lasting__new(void) __attribute__((warn_unused_result));
void lasting__free(struct lasting *l);

/* A look begins: what comes until it ends are waits that last. */
void lasting__begin(struct lasting *l) __attribute__((nonnull));
void lasting__end(struct lasting *l) __attribute__((nonnull));
/*
 * A sample of time off the CPU: its weight becomes what has not been counted yet. False: there is nothing left of it.
 */
bool lasting__count(struct lasting *l, struct profile_sample *sample)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_TOP_LASTING_H */
