/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * printable.h - makes foreign text safe for a terminal or a line of output.
 *
 * The profiled program chooses the names of its code objects, files and processes. Visible escapes
 * replace control characters (\n, \t, \r, \x1b, \x7f, \u0085), characters that change the direction
 * of text (\u202e ...) or end a line (\u2028), and bytes that are not UTF-8 (\xff). Everything
 * else, including backslashes, stays: the result is for reading, not for parsing.
 */
#ifndef KRAIT_BASE_TEXT_PRINTABLE_H
#define KRAIT_BASE_TEXT_PRINTABLE_H

#include <stddef.h>

/* Returns malloc'ed text; NULL: out of memory. */
char *printable(const char *text) __attribute__((warn_unused_result, nonnull));

/* Cuts between two characters or escapes; always NUL-terminates unless size is 0. */
void printable_into(char *buf, size_t size, const char *text) __attribute__((nonnull));

#endif /* KRAIT_BASE_TEXT_PRINTABLE_H */
