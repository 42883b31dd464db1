/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * formats.h - the formats that krait writes, and which one a name or a file name means.
 */
#ifndef KRAIT_CMD_FORMATS_H
#define KRAIT_CMD_FORMATS_H

#include <stdbool.h>

#include "emit/emitter.h"

/* By the name that -f takes; NULL where none fits. */
const struct emitter_ops *format_by_name(const char *name);
/* By the suffix of a file name, the longest first: ".perf.txt" before ".txt". NULL where none fits. */
const struct emitter_ops *format_by_suffix(const char *path);

/* The name that a mistyped one is closest to; NULL where none is close. */
const char *format_nearest(const char *name);
/*
 * The suffixes that a file name without a known one could have meant: ".html" of "x.htlm"; ".speedscope.json or
 * .firefox.json" of "x.json". To be freed; NULL where there are none, or when out of memory.
 */
char *formats_guess(const char *path);

/* Where a help text of a command has the suffixes of all formats. */
#define FORMATS_SUFFIXES "@SUFFIXES@"
/*
 * For struct argp.help_filter of a command that writes them: their names beside -f, their suffixes where
 * FORMATS_SUFFIXES is. from_capture: the command reads a capture, and writes none.
 */
char *formats_help(int key, const char *text, bool from_capture);
/* The first suffix of each, ".data, .html, …"; to be freed, NULL when out of memory. */
char *formats_suffixes(void);

#endif /* KRAIT_CMD_FORMATS_H */
