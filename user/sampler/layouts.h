/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * layouts.h - the layouts of interpreters that the kernel side has at hand: the map layouts.
 *
 * Builds that differ in their micro version alone share one. Each has as many users as there are
 * processes that are tracked with it and files that are known by it; one without any is given up, and
 * its place waits LAYOUTS_REST_NS before it is another's, since the kernel may have handed it to a
 * process of which user space has not read yet.
 *
 * Must hold: a place that is in use never changes; one owner's many builds do not take the place of
 * another's (util/quota.h): what it shows first counts as its own until nobody uses it.
 */
#ifndef KRAIT_SAMPLER_LAYOUTS_H
#define KRAIT_SAMPLER_LAYOUTS_H

#include <linux/types.h>

#include "abi.h"

#define LAYOUTS_REST_NS 30000000000ULL

struct layouts;
struct quota;

/* map_fd: the map layouts, borrowed; -1 for none. NULL when out of memory. */
struct layouts *layouts__new(int map_fd);
void layouts__free(struct layouts *l);

/*
 * The number of the layout, with one more user. -EDQUOT when the owner has too many different ones
 * for what is left, -errno of the map.
 */
int layouts__take(struct layouts *l, unsigned owner, const struct py_offsets *offsets, __u64 now_ns)
	__attribute__((warn_unused_result, nonnull));
/* One user more of a layout that has some, or none (KRAIT_NO_LAYOUT). */
void layouts__use(struct layouts *l, __u32 index) __attribute__((nonnull));
/* One user less; likewise. */
void layouts__drop(struct layouts *l, __u32 index, __u64 now_ns) __attribute__((nonnull));

/* Without the micro version; NULL where there is none under this number. Valid while it is used. */
const struct py_offsets *layouts__at(const struct layouts *l, __u32 index) __attribute__((nonnull));

/* How many each owner has. */
const struct quota *layouts__quota(const struct layouts *l) __attribute__((nonnull));

#endif /* KRAIT_SAMPLER_LAYOUTS_H */
