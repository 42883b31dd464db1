/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * row_path.h - one stack in the form that rows need: its frames, and whose it is.
 */
#ifndef KRAIT_CMD_TOP_ROW_PATH_H
#define KRAIT_CMD_TOP_ROW_PATH_H

#include <linux/types.h>

#include "profile/dict.h"
#include "cmd/top/rows.h"

/* Initially all zero: empty. */
struct row_path {
	__u32 *nodes; /* leaf first; thread and process come last */
	__u32 cnt, cap;
	__u32 codes; /* so many at the beginning are code or marks */
	int pid, tid;
	__u32 process, thread; /* frame ids; 0: unknown */
};

/* Returns 0 or -ENOMEM. */
int row_path_of(struct row_path *ret, const struct dict *d, __u32 node)
	__attribute__((warn_unused_result));

/* Tells whether the path belongs to what the spec is limited to. */
bool row_path_is_of(const struct row_path *p, const struct rows_spec *spec, rows_group_fn group,
		    void *ctx);

bool row_key_is_same_function(const struct row_key *a, const struct row_key *b);
/* For a frame that is code or a mark. lines: include its line, which may be in another file. */
struct row_key row_key_of_code(const struct profile_frame *f, bool lines);
/* For a frame of a process or a thread. */
struct row_key row_key_of_task(const struct profile_frame *f);

#endif /* KRAIT_CMD_TOP_ROW_PATH_H */
