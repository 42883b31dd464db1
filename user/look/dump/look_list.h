/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look_list.h - the threads of a process, or of a core file, from lists that others make.
 */
#ifndef KRAIT_LOOK_DUMP_LOOK_LIST_H
#define KRAIT_LOOK_DUMP_LOOK_LIST_H

#include <linux/types.h>
#include <stdbool.h>

struct look_process;
struct look_thread;
struct probe_threads;

/* again: only those that have no stack yet. Returns the process's result. */
int look_list_take(struct look_process *p, bool again) __attribute__((nonnull));

/*
 * Takes the frames of t, whose os says where they are in the list. *next_local: earlier variables
 * belong to earlier threads; both are in the same order. Without a stack, t->why has the reason.
 * Returns 0 or -ENOMEM.
 */
int look_list_stack(struct look_process *p, struct look_thread *t, const struct probe_threads *l,
		    __u32 *next_local) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_LOOK_DUMP_LOOK_LIST_H */
