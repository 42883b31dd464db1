/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_timed.h - a profile's samples in an order of time, for outputs that keep it.
 */
#ifndef KRAIT_TESTS_SUPPORT_TIMED_H
#define KRAIT_TESTS_SUPPORT_TIMED_H

#include "emit/emitter.h"
#include "profile/profile.h"

/*
 * What the emitter writes of all samples of event 0, in an order that is random and always the same: those of a thread
 * a millisecond or so apart, as a clock of 997 Hz has them. To be freed.
 */
char *emit_timed(const char *format, const struct profile *p, const struct emit_options *options);
/* Counts samples at random leaves until there are so many. */
void add_random_samples(struct profile *p, __u64 cnt);

#endif /* KRAIT_TESTS_SUPPORT_TIMED_H */
