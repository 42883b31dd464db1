/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * printable.h - text from elsewhere, made safe for a terminal or a line of output.
 *
 * The profiled program chooses the names of its code objects, files and processes. Replaced by
 * visible escapes are: control characters (\n, \t, \r, \x1b, \x7f, \u0085), characters that change
 * the direction of what follows (\u202e ...) or end a line (\u2028), and each byte that is not
 * UTF-8 (\xff). All else, a backslash too, stays as it is: this is for reading, not for parsing.
 */
#ifndef KRAIT_UTIL_PRINTABLE_H
#define KRAIT_UTIL_PRINTABLE_H

#include <stddef.h>

/* malloc'ed, NULL if out of memory. */
char *printable(const char *text) __attribute__((warn_unused_result, nonnull));

/* Cut to fit between two characters or escapes; always NUL-terminated unless size is 0. */
void printable_into(char *buf, size_t size, const char *text) __attribute__((nonnull));

#endif /* KRAIT_UTIL_PRINTABLE_H */
