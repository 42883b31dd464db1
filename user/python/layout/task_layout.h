/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * task_layout.h - what the kernel side must know to follow asyncio tasks in one process
 * (bpf/python/asyncio_tasks.h): from the table that the process publishes, and from what 3.14 and 3.15 have in
 * common.
 */
#ifndef KRAIT_PYTHON_LAYOUT_TASK_LAYOUT_H
#define KRAIT_PYTHON_LAYOUT_TASK_LAYOUT_H

#include <linux/types.h>

#include "bpf/abi.h"

struct published_asyncio;

/* Returns 0, or -ENODATA if tasks have a layout that cannot be followed. start_ns: of the process. */
int task_layout_of(struct task_layout *ret, const struct py_offsets *offsets,
		   const struct published_asyncio *asyncio, __u64 start_ns)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PYTHON_LAYOUT_TASK_LAYOUT_H */
