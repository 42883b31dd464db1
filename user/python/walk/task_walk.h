/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * task_walk.h - the kernel's own walk along asyncio tasks (bpf/python/asyncio_tasks.h) over memory that can be
 * read from user space.
 *
 * As with stack_walk.h, nothing holds still in a running process.
 *
 * Must hold: at most KRAIT_MAX_TASK_PARTS parts and KRAIT_MAX_TASK_STEPS steps, whatever the memory
 * contains.
 */
#ifndef KRAIT_PYTHON_WALK_TASK_WALK_H
#define KRAIT_PYTHON_WALK_TASK_WALK_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"

struct memory;

/* One interpreter, and where its tasks are. All pointers are borrowed. */
struct task_walk_config {
	const struct memory *memory;
	const struct py_offsets *offsets;
	const struct task_layout *layout;
	bool fingerprints; /* take a fingerprint of each code object */
	bool names; /* include the parts of names */
	bool alone; /* only the first task and its creator's address, not those that await it */
	__u8 garbage; /* tests: fills scratch memory */
};

struct task_walk_result {
	__u64 creator_addr; /* of the first task, if that starts eagerly (TASK_EAGER); with alone */
	__u32 cnt;
	struct frame parts[KRAIT_MAX_TASK_PARTS + 1]; /* as in a record's section, plus one spare */
};

void task_walk_from(const struct task_walk_config *x, __u64 task_addr, struct task_walk_result *ret)
	__attribute__((nonnull));

#endif /* KRAIT_PYTHON_WALK_TASK_WALK_H */
