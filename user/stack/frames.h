/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames.h - a growing array of frames with one tag each.
 */
#ifndef KRAIT_STACK_FRAMES_H
#define KRAIT_STACK_FRAMES_H

#include <linux/types.h>

#include "abi.h"

struct frames {
	struct frame *list;
	__u32 *tags;
	__u32 cnt, cap;
};

/* Room for cnt frames; what is there stays. 0 or -ENOMEM. */
int frames_reserve(struct frames *f, __u32 cnt) __attribute__((warn_unused_result));
void frames_free(struct frames *f);

#endif /* KRAIT_STACK_FRAMES_H */
