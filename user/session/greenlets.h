/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * greenlets.h - whether the C stack of a sample is that of its Python frames, where greenlet is on it.
 *
 * From CPython 3.12 on greenlet takes the entry frames out of a chain before it exchanges C stacks (bpf/exposed.h): a
 * chain that has its own belongs to the C stack. While they are being taken out some are missing, and that cannot be
 * seen in the chain: then there are more evaluations on the C stack than activations in it. 3.11 keeps on the C stack
 * what links activations, and the kernel has compared it: so each is where that says, if there is a native frame.
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
	const __u8 *origins; /* of each */
	__u32 native_cnt;
	const struct frame *frames; /* root first */
	__u32 frame_cnt;
	bool has_owner; /* PY_FRAME_OWNER */
};

/* Of a sample whose frames are a whole chain that was walked to its end. */
enum join_chain greenlet_chain(const struct greenlet_stack *s);

#endif /* KRAIT_SESSION_GREENLETS_H */
