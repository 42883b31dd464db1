/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_timed.h - a profile's samples in time order, for outputs that keep it.
 */
#ifndef KRAIT_TESTS_SUPPORT_TIMED_H
#define KRAIT_TESTS_SUPPORT_TIMED_H

#include "output/emitter.h"
#include "profile/profile.h"

/*
 * Returns an emitter's output for all samples of event 0, in a random but reproducible order: a
 * thread's samples are about a millisecond apart, as with a clock of 997 Hz. The caller frees it.
 */
char *emit_timed(const char *format, const struct profile *p, const struct emit_options *options);
/* Adds samples at random leaves until there are so many. */
void add_random_samples(struct profile *p, __u64 cnt);

#endif /* KRAIT_TESTS_SUPPORT_TIMED_H */
