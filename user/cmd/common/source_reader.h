/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source_reader.h - reads a source file in a child with the caller's rights: the target chooses the
 * file's location, and a file system that never answers must not block krait.
 *
 * Must hold: whatever the file is, the answer comes in time. The child has none of krait's other
 * descriptors and ends with krait at the latest.
 */
#ifndef KRAIT_CMD_COMMON_SOURCE_READER_H
#define KRAIT_CMD_COMMON_SOURCE_READER_H

#include "profile/dict.h"

/* As source_lookup(); also -ETIMEDOUT, and -EAGAIN if no child can be made. */
int source_read_apart(char **ret, const struct dict *dict, __u32 file, const char *folder,
		      int timeout_ms) __attribute__((warn_unused_result));

#endif /* KRAIT_CMD_COMMON_SOURCE_READER_H */
