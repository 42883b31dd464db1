/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * secret_file.h - tokens, keys and certificates in files that the configuration names.
 *
 * Must hold: refuses a file that another user could have written, and a secret one that everybody
 * can read; messages never contain a file's contents.
 */
#ifndef KRAIT_BASE_FILES_SECRET_FILE_H
#define KRAIT_BASE_FILES_SECRET_FILE_H

#include <stdbool.h>

struct error;

/*
 * Reads the whole file, at most 1 MiB, into malloc'ed text. path NULL: leaves *ret alone. Returns
 * 0, or a negative result with *err filled.
 */
int secret_file_read(char **ret, const char *path, const char *what, bool secret, struct error *err)
	__attribute__((warn_unused_result, nonnull(1, 3, 5)));
/* Reads its first line, which must have only characters allowed in a header. */
int secret_file_token(char **ret, const char *path, struct error *err)
	__attribute__((warn_unused_result, nonnull(1, 3)));

#endif /* KRAIT_BASE_FILES_SECRET_FILE_H */
