/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * task_walk.h - the kernel's own walk along asyncio tasks (bpf/tasks.h) over memory that can be read from here.
 *
 * As with stack_walk.h nothing holds still in a process that runs meanwhile.
 *
 * Must hold: at most KRAIT_MAX_TASK_PARTS parts and KRAIT_MAX_TASK_STEPS steps, whatever the memory says.
 */
#ifndef KRAIT_WALK_TASK_WALK_H
#define KRAIT_WALK_TASK_WALK_H

#include <linux/types.h>
#include <stdbool.h>

#include "abi.h"

struct memory;

/* One interpreter, and where its tasks are. All is borrowed. */
struct task_walk_config {
	const struct memory *memory;
	const struct py_offsets *offsets;
	const struct task_layout *layout;
	bool fingerprints; /* take one of each code object */
	bool names; /* parts of them, too */
	bool alone; /* the first task only, without those that await it */
	__u8 garbage; /* tests: what is in scratch memory */
};

struct task_walk_result {
	__u32 cnt;
	struct frame parts[KRAIT_MAX_TASK_PARTS +
			   1]; /* as the section of a record has them; one to spare */
};

void task_walk_from(const struct task_walk_config *x, __u64 task_addr, struct task_walk_result *ret)
	__attribute__((nonnull));

#endif /* KRAIT_WALK_TASK_WALK_H */
