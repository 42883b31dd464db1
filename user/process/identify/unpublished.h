/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unpublished.h - offsets of an interpreter that does not publish them: CPython 3.8 to 3.12.
 *
 * Tries what a process of the same file has already proved, then the table of the minor version,
 * then the debug information of the build. Uses only what the process proves (py_verify.h); a
 * pre-release has no table.
 */
#ifndef KRAIT_PROCESS_IDENTIFY_UNPUBLISHED_H
#define KRAIT_PROCESS_IDENTIFY_UNPUBLISHED_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "python/layout/py_offsets.h"

struct dwarf_jobs;
struct elf_runtime;
struct memory;

/* One copy of the runtime in one process. */
struct unpublished {
	const struct memory *memory;
	const struct elf_runtime *elf;
	struct dwarf_jobs *jobs;
	__u64 runtime_addr;
	uid_t uid; /* who pays for the process */
	const char *path; /* the file, where we can open it */
	const char *root; /* of the process: debug information may be there, too */

	struct py_offsets offsets; /* valid if the result is 0 */
	enum py_source source;
	bool initialised;
	char why[192]; /* valid otherwise */
};

/*
 * Returns
 *  0         offsets, source and initialised are filled
 *  -EAGAIN   not initialised yet: nothing can be proved
 *  -EINPROGRESS  its debug information is being read: ask again
 *  -ENOTSUP  a version that has no table and no debug information, or a build that fits neither
 *  -errno    memory could not be read
 */
int unpublished_find(struct unpublished *u) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PROCESS_IDENTIFY_UNPUBLISHED_H */
