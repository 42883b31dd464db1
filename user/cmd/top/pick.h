/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pick.h - what a screen shows, as a profile and as samples, for outputs.
 */
#ifndef KRAIT_CMD_TOP_PICK_H
#define KRAIT_CMD_TOP_PICK_H

#include "cmd/top/model.h"

/*
 * Returns everything since the start for the shown place: its process, thread or container, the
 * function whose callers are shown or the file whose lines are shown, and only stacks that match
 * the filter. Free it with profile__free(); NULL: out of memory.
 */
struct profile *pick_profile(const struct model *m);

/* Likewise for the kept rounds, sample by sample in order of arrival; fn returns whether to go on. */
typedef bool (*pick_fn)(void *ctx, const struct profile_sample *sample);
/* Returns 0 or -ENOMEM. */
int pick_samples(const struct model *m, pick_fn fn, void *ctx) __attribute__((warn_unused_result));

#endif /* KRAIT_CMD_TOP_PICK_H */
