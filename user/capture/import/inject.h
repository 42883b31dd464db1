/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inject.h - puts the stacks that krait took (taken_stacks.h) into perf's own samples: an editor for perf_copy.h.
 *
 * A sample of a thread in Python gets krait's stack of user mode, Python and native code joined, in place of perf's,
 * which has the interpreter's own functions there; the kernel's part stays. A copy of the stack, from which perf would
 * unwind (--call-graph dwarf), is left out then. The leaf in user mode becomes the sample's address. Before its first
 * sample a process is given krait's libraries.
 *
 * Must hold: every other record is passed on as it is, and so is a sample whose stack is not known for certain.
 */
#ifndef KRAIT_CAPTURE_IMPORT_INJECT_H
#define KRAIT_CAPTURE_IMPORT_INJECT_H

#include <linux/types.h>
#include <stdbool.h>

#include "base/data/bytes.h"

struct perf_read;
struct perf_reader;
struct taken_stacks;

struct inject_stats {
	__u64 samples, others; /* of processes in Python; of all others */
	__u64 matched; /* of the samples, those whose stack krait has taken, too */
	__u64 python; /* of these, those that were in Python, and got it */
	/*
	 * Of the others: before krait's first stack of the process, after its last one; without a chain to put it into;
	 * with several stacks to choose from.
	 */
	__u64 before, after, chainless, unclear;
	__u64 too_large; /* of those in Python, with more frames than a record has room for */
};

/* All zero but for what the caller sets. */
struct inject {
	const struct taken_stacks *stacks;
	/* Returns the path that a library will have, valid until free; NULL: it is not there. */
	const char *(*library)(void *ctx, const char *path, const __u8 *build_id,
			       unsigned build_id_size);
	void *ctx;
	struct inject_stats stats;
	int *told; /* processes that have krait's libraries, in order */
	unsigned told_cnt, told_cap;
};

/* As struct perf_copy_editor has them; ctx: struct inject. */
int inject_edit(struct inject *i, const struct perf_reader *reader, const struct perf_read *r,
		struct bytes *to);
void inject_add_build_ids(const struct inject *i, struct bytes *to);
void inject_free(struct inject *i);

#endif /* KRAIT_CAPTURE_IMPORT_INJECT_H */
