/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * layouts.h - the interpreter layouts that the kernel side has available: the map layouts.
 *
 * Builds that differ only in their micro version share one. Each process tracked with a layout and
 * each file known by it is a user of the layout. A layout without users is given up, but its place
 * waits LAYOUTS_REST_NS before it is reused, since the kernel may have assigned it to a process
 * whose event user space has not read yet.
 *
 * Must hold: a place in use never changes; one owner's many builds cannot take the places of others
 * (base/share/quota.h): the owner that first brings a layout pays for it until nobody uses it.
 */
#ifndef KRAIT_KERNEL_MAPS_LAYOUTS_H
#define KRAIT_KERNEL_MAPS_LAYOUTS_H

#include <linux/types.h>

#include "bpf/abi.h"

#define LAYOUTS_REST_NS 30000000000ULL

struct layouts;
struct quota;

/* map: what the kernel reads, KRAIT_MAX_LAYOUTS of them, borrowed; NULL: nobody does. NULL: out of memory. */
struct layouts *layouts__new(struct py_offsets *map);
void layouts__free(struct layouts *l);

/*
 * Takes a reference on the layout and returns its number. -EDQUOT: the owner has too many different
 * ones for what is left.
 */
int layouts__take(struct layouts *l, unsigned owner, const struct py_offsets *offsets, __u64 now_ns)
	__attribute__((warn_unused_result, nonnull));
/* Adds a user to a layout that has some; does nothing for KRAIT_NO_LAYOUT. */
void layouts__use(struct layouts *l, __u32 index) __attribute__((nonnull));
/* Removes a user; likewise. */
void layouts__drop(struct layouts *l, __u32 index, __u64 now_ns) __attribute__((nonnull));

/* Without the micro version; NULL if the number is unused. Valid while the layout has users. */
const struct py_offsets *layouts__at(const struct layouts *l, __u32 index) __attribute__((nonnull));

/* How many each owner has. */
const struct quota *layouts__quota(const struct layouts *l) __attribute__((nonnull));

#endif /* KRAIT_KERNEL_MAPS_LAYOUTS_H */
