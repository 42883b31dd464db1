/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_offsets.h - the layout of an interpreter build from its debug information.
 *
 * The information may be in the file itself, in a separate one (by build ID or debug link, below
 * /usr/lib/debug here and in the process's root), or on a debuginfod server where DEBUGINFOD_URLS is
 * set. What the members mean must be known all the same, so only the minor versions that have a
 * table are read: this is for builds that the table does not fit.
 *
 * Must hold: the file is anybody's. It may make the parser crash or run for ever, so krait calls this in
 * a process of its own only: dwarf_jobs.h.
 */
#ifndef KRAIT_TARGET_DWARF_OFFSETS_H
#define KRAIT_TARGET_DWARF_OFFSETS_H

#include <linux/types.h>
#include <stddef.h>

#include "abi.h"

/*
 * 0 and *ret filled, with ret->version the one given; -ENOENT: there is no debug information, or not
 * all of it. why says which.
 */
int dwarf_offsets_parse(const char *path, const char *root, __u32 version, struct py_offsets *ret,
			char *why, size_t why_size) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_TARGET_DWARF_OFFSETS_H */
