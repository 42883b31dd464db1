/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * formats.h - the formats that krait writes, and how names and file names map to them.
 */
#ifndef KRAIT_CMD_COMMON_FORMATS_H
#define KRAIT_CMD_COMMON_FORMATS_H

#include <stdbool.h>

#include "output/emitter.h"

/* The name of each, for -f; NULL: there are no more. */
const char *format_name(unsigned i);
/* Finds a format by the name for -f; NULL: none. */
const struct emitter_ops *format_by_name(const char *name);
/* Finds a format by a file name's suffix; the longest wins: ".perf.txt" before ".txt". NULL: none. */
const struct emitter_ops *format_by_suffix(const char *path);

/* Returns the name closest to a mistyped one; NULL: none is close. */
const char *format_nearest(const char *name);
/*
 * Returns the suffixes that a file name without a known suffix could mean: ".html" for "x.htlm";
 * ".speedscope.json or .firefox.json" for "x.json". To be freed; NULL: none, or out of memory.
 */
char *formats_guess(const char *path);

/* A command's help text contains this where the suffixes of all formats go. */
#define FORMATS_SUFFIXES "@SUFFIXES@"
/*
 * For struct argp.help_filter of a command that writes them: puts names beside -f and suffixes in
 * place of FORMATS_SUFFIXES. from_capture: the command reads captures and writes none.
 */
char *formats_help(int key, const char *text, bool from_capture);
/* Returns the first suffix of each, ".data, .html, …"; to be freed; NULL: out of memory. */
char *formats_suffixes(void);

#endif /* KRAIT_CMD_COMMON_FORMATS_H */
