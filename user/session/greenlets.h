/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * greenlets.h - if greenlet is on the C stack of a sample: does that stack belong to the sample's
 * Python frames?
 *
 * From CPython 3.12 on greenlet unlinks the entry frames of a chain before it exchanges C stacks
 * (bpf/exposed.h), so a chain with entry frames belongs to the C stack. While it is unlinking them
 * some are missing, which the chain does not show; but then there are more evaluations on the C
 * stack than activations in the chain. 3.11 keeps the links between activations on the C stack, and
 * the kernel has compared them: each lies where its link says, if there is a native frame.
 */
#ifndef KRAIT_SESSION_GREENLETS_H
#define KRAIT_SESSION_GREENLETS_H

#include <linux/types.h>

#include "abi.h"
#include "stack/join.h"

struct native;

struct greenlet_stack {
	struct native *native; /* of the process */
	const struct native_frame *natives; /* leaf first */
	const __u8 *origins; /* of each native frame */
	__u32 native_cnt;
	const struct frame *frames; /* root first */
	__u32 frame_cnt;
	bool has_owner; /* PY_FRAME_OWNER */
};

/* For a sample whose frames are a whole chain, walked to its end. */
enum join_chain greenlet_chain(const struct greenlet_stack *s);

#endif /* KRAIT_SESSION_GREENLETS_H */
