/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look_join.h - adds native frames to the stack of a thread that stood still, or of one in a core
 * file.
 */
#ifndef KRAIT_LOOK_DUMP_LOOK_JOIN_H
#define KRAIT_LOOK_DUMP_LOOK_JOIN_H

#include <linux/types.h>

#include "record/stack/items.h"

struct look_thread;
struct memory;
struct probe_thread;
struct probe_threads;
struct still_process;

/* How the threads of a list get their native frames. */
struct look_join {
	struct still_process *process; /* NULL: they get none */
	const struct memory *memory; /* of a core; NULL: the list contains copies of the stacks */
};

/*
 * Joins Python and native frames of a thread of the list, root first; valid until the next call.
 * Returns 0 or -ENOMEM.
 */
int look_join(const struct look_join *j, const struct probe_threads *l,
	      const struct probe_thread *os, const struct items **ret)
	__attribute__((warn_unused_result, nonnull));
/* Appends an item that is not a Python frame to t. Returns 0 or -ENOMEM. */
int look_join_add(const struct look_join *j, struct look_thread *t, const struct item *item)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_LOOK_DUMP_LOOK_JOIN_H */
