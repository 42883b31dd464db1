/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source_lines.h - source lines of native code, and what was inlined there, as far as DWARF says.
 *
 * Parsers of their own read it, by owner as those of symbols (symbol_reader.h): however much debug
 * information a file has, or claims to have, nobody's names wait for it, and a file that costs a parser its
 * time or its life has no lines and keeps its names.
 * What split DWARF has in other files is given to parsers as they want it (source_halves.h).
 */
#ifndef KRAIT_SYMBOL_SOURCE_LINES_H
#define KRAIT_SYMBOL_SOURCE_LINES_H

#include <linux/types.h>

#include "symbol/source_frame.h"

struct module;
struct native_files;
struct source_halves;
struct source_lines;

/* files: borrowed; it has them open. NULL when out of memory. */
struct source_lines *source_lines__new(struct native_files *files)
	__attribute__((warn_unused_result, nonnull));
void source_lines__free(struct source_lines *s);
/* Has what it takes to start parsers started now, while krait has all its rights. */
void source_lines__prepare(struct source_lines *s) __attribute__((nonnull));

/*
 * Asks for these offsets in the module's file, at most PARSER_PLACES_MAX. The number of answers, of the first
 * offsets, at least one; they are there until the next call. -EAGAIN: not now; -errno: none.
 */
int source_lines__find(struct source_lines *s, const struct module *module, const __u64 *offsets,
		       __u32 cnt) __attribute__((warn_unused_result, nonnull));
/* Answer number i: fills as many of ret[SOURCE_FRAMES_MAX] as it returns, as dwarf_source__find(). */
unsigned source_lines__at(const struct source_lines *s, __u32 i, struct source_frame *ret)
	__attribute__((nonnull));

/* What became of the files of split DWARF. */
const struct source_halves *source_lines__halves(const struct source_lines *s)
	__attribute__((nonnull));

#endif /* KRAIT_SYMBOL_SOURCE_LINES_H */
