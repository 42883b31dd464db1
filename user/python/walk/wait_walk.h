/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_walk.h - what a resting thread waits for, as the kernel side would say (bpf/python/gil.h, nogil.h), over memory that
 * can be read from here.
 */
#ifndef KRAIT_PYTHON_WALK_WAIT_WALK_H
#define KRAIT_PYTHON_WALK_WAIT_WALK_H

#include <linux/types.h>

#include "bpf/abi.h"

struct memory;

struct wait_walk {
	const struct memory *memory; /* of its process */
	const struct py_offsets *offsets;
	__u64 runtime_addr, interp_addr, tstate_addr; /* the latter two: 0 unknown */
};

/*
 * Returns those flags of enum wait_flag that the interpreter determines, for a thread in that
 * system call.
 */
__u32 wait_walk_flags(const struct wait_walk *x, const struct wait_facts *facts)
	__attribute__((nonnull));

#endif /* KRAIT_PYTHON_WALK_WAIT_WALK_H */
