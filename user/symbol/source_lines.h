/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source_lines.h - source lines of native code, and what was inlined there, as far as DWARF says.
 *
 * Parsers of their own read it, by owner as those of symbols (symbol_reader.h): however much debug
 * information a file has, or claims to have, nobody's names wait for it, and a file that costs a parser its
 * time or its life has no lines and keeps its names.
 */
#ifndef KRAIT_SYMBOL_SOURCE_LINES_H
#define KRAIT_SYMBOL_SOURCE_LINES_H

#include <linux/types.h>

struct module;
struct native_files;
struct parser_sources;
struct source_lines;

/* files: borrowed; it has them open. NULL when out of memory. */
struct source_lines *source_lines__new(struct native_files *files)
	__attribute__((warn_unused_result, nonnull));
void source_lines__free(struct source_lines *s);
/* Has what it takes to start parsers started now, while krait has all its rights. */
void source_lines__prepare(struct source_lines *s) __attribute__((nonnull));

/*
 * At these offsets in the module's file, at most PARSER_PLACES_MAX; an offset with no frames has no lines.
 * *ret has at least one answer and is valid until the next call. 0; -EAGAIN: not now; -errno: none.
 */
int source_lines__find(struct source_lines *s, const struct module *module, const __u64 *offsets,
		       __u32 cnt, const struct parser_sources **ret)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_SYMBOL_SOURCE_LINES_H */
