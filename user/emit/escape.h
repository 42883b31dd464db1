/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * escape.h - names and paths of the target, ready to be written.
 *
 * What is harmful in a name is decided in one place, util/printable.h; here it is put into the
 * forms that outputs need.
 *
 * Must hold: what is written is valid UTF-8 without control and bidi characters.
 */
#ifndef KRAIT_EMIT_ESCAPE_H
#define KRAIT_EMIT_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

/* 0 or -ENOMEM. */
int put_printable(FILE *out, const char *text);

/* Columns that the first character of a printable text takes on a terminal: 0, 1 or 2. */
unsigned char_width(const char *text, size_t *ret_bytes);
unsigned text_width(const char *text);

#endif /* KRAIT_EMIT_ESCAPE_H */
