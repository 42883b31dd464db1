/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * secret_file.h - tokens, keys and certificates that the configuration names as files.
 *
 * Must hold: a file that another user could have written is refused, a secret one also where everybody may read it;
 * what is said of it never has its contents.
 */
#ifndef KRAIT_UTIL_SECRET_FILE_H
#define KRAIT_UTIL_SECRET_FILE_H

#include <stdbool.h>

struct error;

/* All of it as text, at most 1 MiB, malloc'ed. path NULL: *ret stays as it is. 0, or negative with *err filled. */
int secret_file_read(char **ret, const char *path, const char *what, bool secret, struct error *err)
	__attribute__((warn_unused_result, nonnull(1, 3, 5)));
/* Its first line, of characters that may stand in a header. */
int secret_file_token(char **ret, const char *path, struct error *err)
	__attribute__((warn_unused_result, nonnull(1, 3)));

#endif /* KRAIT_UTIL_SECRET_FILE_H */
