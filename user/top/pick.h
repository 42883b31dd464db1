/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pick.h - what a screen shows, as a profile and as samples: what outputs write.
 */
#ifndef KRAIT_TOP_PICK_H
#define KRAIT_TOP_PICK_H

#include "top/model.h"

/*
 * All since the start, of the place that is shown: its process, thread or container; with the function whose
 * callers, or the file whose lines are shown; with the filter, of stacks in which that is found. To be freed
 * with profile__free(); NULL: no memory.
 */
struct profile *pick_profile(const struct model *m);

/* The same of the rounds that are kept, in the order in which they came; fn says whether to go on. */
typedef bool (*pick_fn)(void *ctx, const struct profile_sample *sample);
/* 0 or -ENOMEM. */
int pick_samples(const struct model *m, pick_fn fn, void *ctx) __attribute__((warn_unused_result));

#endif /* KRAIT_TOP_PICK_H */
