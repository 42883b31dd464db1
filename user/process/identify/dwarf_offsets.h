/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_offsets.h - the layout of an interpreter build from its debug information.
 *
 * The information may be in the file itself or in a separate one. The meaning of the members must
 * be known in any case, so this reads only minor versions that have a table: it is for builds that
 * do not fit the table.
 *
 * Must hold: the files come from anybody. They may make the parser crash or run for ever, so only a
 * parser process calls this: dwarf_jobs.h.
 */
#ifndef KRAIT_PROCESS_IDENTIFY_DWARF_OFFSETS_H
#define KRAIT_PROCESS_IDENTIFY_DWARF_OFFSETS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "bpf/abi.h"

/*
 * Reads an open file; debug_fd: a file with its debug information, used if it has the same build
 * ID, or -1. Returns 0 with *ret filled (ret->version is the given one); -ENOENT: why is empty:
 * there is no debug information; or why says what is missing.
 */
int dwarf_offsets_parse(int fd, int debug_fd, __u32 version, struct py_offsets *ret, char *why,
			size_t why_size) __attribute__((warn_unused_result, nonnull));

/*
 * Could dwarf_offsets_parse() have returned these offsets? For callers that got them from
 * elsewhere.
 */
bool dwarf_offsets_are_sane(const struct py_offsets *o, __u32 version) __attribute__((nonnull));

#endif /* KRAIT_PROCESS_IDENTIFY_DWARF_OFFSETS_H */
