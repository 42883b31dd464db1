/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source_file.h - reads a source file that a profiled program has named.
 *
 * The program chooses the name: any code object can claim to come from /etc/shadow. So a file is shown only if
 * the program itself could have read it, judged by its ids, from the root folder on, link by link; if its ids are not
 * known, only if everybody can read the file. The caller's own rights apply in any case, since he opens the file.
 *
 * Must hold: only ordinary files, opened without waiting and without effect; of bounded size.
 */
#ifndef KRAIT_EMIT_SOURCE_FILE_H
#define KRAIT_EMIT_SOURCE_FILE_H

#include "profile/identities.h"

#define SOURCE_FILE_MAX (16U << 20)

/*
 * The text, NUL-terminated; the caller frees it. who: NULL everybody. 0; -EACCES: those could not read
 * it, or the caller cannot; -EINVAL: it is no ordinary file; -EFBIG; -errno.
 */
int source_file_read(char **ret, const char *path, const struct identity *who)
	__attribute__((warn_unused_result));
/* Below a folder that the caller vouches for, with his rights; nothing leads out of it. */
int source_file_read_below(char **ret, const char *folder, const char *path)
	__attribute__((warn_unused_result));

#endif /* KRAIT_EMIT_SOURCE_FILE_H */
