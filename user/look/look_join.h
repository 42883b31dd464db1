/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look_join.h - a stack with its native frames, of a thread that stood still, or of a core file.
 */
#ifndef KRAIT_LOOK_LOOK_JOIN_H
#define KRAIT_LOOK_LOOK_JOIN_H

#include <linux/types.h>

#include "stack/join.h"

struct look_thread;
struct memory;
struct probe_thread;
struct probe_threads;
struct still_process;

/* How a list's threads get their native frames. */
struct look_join {
	struct still_process *process; /* NULL: they get none */
	const struct memory *memory; /* of a core; NULL: the list has copies of the stacks */
};

/* Python and native frames of a thread of the list, root first: valid until the next call. 0 or -ENOMEM. */
int look_join(const struct look_join *j, const struct probe_threads *l,
	      const struct probe_thread *os, const struct join **ret)
	__attribute__((warn_unused_result, nonnull));
/* What stands there, no frame of Python, comes to the end of t. 0 or -ENOMEM. */
int look_join_add(const struct look_join *j, struct look_thread *t, const struct join_item *item)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_LOOK_LOOK_JOIN_H */
