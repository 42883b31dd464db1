/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * escape.h - writes names and paths of the target safely.
 *
 * base/text/printable.h alone decides what is harmful in a name; this module writes the result in the
 * forms that outputs need.
 *
 * Must hold: the output is valid UTF-8 without control and bidi characters.
 */
#ifndef KRAIT_OUTPUT_ESCAPE_H
#define KRAIT_OUTPUT_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

/* Returns 0 or -ENOMEM. */
int put_printable(FILE *out, const char *text);
/* Likewise as text or an attribute's value in XML. */
int put_xml(FILE *out, const char *text);

/*
 * For people: names and paths of programs are as long as these like, but nobody reads a table that is
 * 3,000 columns wide. What is wider loses its middle: "begin...end". What programs read keeps it
 * whole (put_printable()).
 */
#define SHOWN_COLUMNS 160
/* Malloc'ed, printable; NULL: out of memory. */
char *shown_text(const char *text) __attribute__((warn_unused_result));
/* Returns 0 or -ENOMEM. */
int put_shown(FILE *out, const char *text);

/* Returns the terminal columns of the first character of a printable text: 0, 1 or 2. */
unsigned char_width(const char *text, size_t *ret_bytes);
unsigned text_width(const char *text);

#endif /* KRAIT_OUTPUT_ESCAPE_H */
