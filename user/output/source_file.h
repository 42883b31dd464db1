/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source_file.h - reads a source file named by a profiled program.
 *
 * The program chooses the name: any code object can claim to come from /etc/shadow. So krait shows
 * a file only if the program itself could have read it, judged by the program's ids, from the root
 * folder on, link by link. If its ids are unknown, everybody must be able to read the file. The
 * caller's own rights apply in any case, since he opens the file.
 *
 * Must hold: only regular files of bounded size, opened without blocking and without side effects.
 */
#ifndef KRAIT_OUTPUT_SOURCE_FILE_H
#define KRAIT_OUTPUT_SOURCE_FILE_H

#include "profile/identities.h"

#define SOURCE_FILE_MAX (16U << 20)

/*
 * Stores the text, NUL-terminated; the caller frees it. who: NULL means everybody. Returns 0,
 * -EACCES (who or the caller cannot read it), -EINVAL (not a regular file), -EFBIG or another
 * -errno.
 */
int source_file_read(char **ret, const char *path, const struct identity *who)
	__attribute__((warn_unused_result));
/*
 * Reads below a folder that the caller vouches for, with the caller's rights; nothing leads out of
 * it: the path without what leads to the folder, the whole path, or the name alone.
 */
int source_file_read_below(char **ret, const char *folder, const char *path)
	__attribute__((warn_unused_result));

/* The same for a keeper (base/worker/keeper.h): they return a descriptor. */
int source_file_open(const char *path, const struct identity *who)
	__attribute__((warn_unused_result));
int source_file_open_below(const char *folder, const char *path)
	__attribute__((warn_unused_result));

#endif /* KRAIT_OUTPUT_SOURCE_FILE_H */
