/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source_reader.h - reads a source file in a child of its own, with the caller's rights: where the file lies
 * is the target's choice, and a file system that never answers must not keep krait.
 *
 * Must hold: whatever the file is, the answer comes in time; the child has none of krait's descriptors, and
 * ends with krait at the latest.
 */
#ifndef KRAIT_TOP_SOURCE_READER_H
#define KRAIT_TOP_SOURCE_READER_H

#include "profile/dict.h"

/* As source_lookup(); also -ETIMEDOUT, and -EAGAIN where there can be no child. */
int source_read_apart(char **ret, const struct dict *dict, __u32 file, const char *folder,
		      int timeout_ms) __attribute__((warn_unused_result));

#endif /* KRAIT_TOP_SOURCE_READER_H */
