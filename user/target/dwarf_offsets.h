/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_offsets.h - the layout of an interpreter build from its debug information.
 *
 * The information may be in the file itself or in a separate one. What the members mean must be known
 * all the same, so only the minor versions that have a table are read: this is for builds that the
 * table does not fit.
 *
 * Must hold: the files are anybody's. They may make the parser crash or run for ever, so krait calls this
 * in a parser only: dwarf_jobs.h.
 */
#ifndef KRAIT_TARGET_DWARF_OFFSETS_H
#define KRAIT_TARGET_DWARF_OFFSETS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "abi.h"

/*
 * Of an open file; debug_fd: one with its debug information, used if it has the same build ID, or -1. 0
 * and *ret filled, with ret->version the one given; -ENOENT: there is no debug information, and why is
 * empty, or not all of it, and why says what is missing.
 */
int dwarf_offsets_parse(int fd, int debug_fd, __u32 version, struct py_offsets *ret, char *why,
			size_t why_size) __attribute__((warn_unused_result, nonnull));

/* Are these offsets such as dwarf_offsets_parse() gives? For who has them from elsewhere. */
bool dwarf_offsets_are_sane(const struct py_offsets *o, __u32 version) __attribute__((nonnull));

#endif /* KRAIT_TARGET_DWARF_OFFSETS_H */
