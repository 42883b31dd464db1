/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * task_layout.h - what the kernel side must know to follow asyncio tasks in one process (bpf/tasks.h): of the table
 * that the process publishes, and of what 3.14 and 3.15 have in common.
 */
#ifndef KRAIT_TARGET_TASK_LAYOUT_H
#define KRAIT_TARGET_TASK_LAYOUT_H

#include <linux/types.h>

#include "abi.h"

struct published_asyncio;

/* 0, or -ENODATA where tasks lie in a way that cannot be followed. start_ns: of the process. */
int task_layout_of(struct task_layout *ret, const struct py_offsets *offsets,
		   const struct published_asyncio *asyncio, __u64 start_ns)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_TARGET_TASK_LAYOUT_H */
