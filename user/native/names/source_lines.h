/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source_lines.h - source lines of native code, and the functions inlined there, as far as DWARF
 * says.
 *
 * Separate parsers read it, by owner like those of symbols (symbol_reader.h): however much debug
 * information a file has, or claims to have, names never wait for it, and a file that stalls or
 * kills a parser has no lines but keeps its names. Split DWARF (-gsplit-dwarf) has lines in the
 * file itself; inlined functions are in other files (.dwo, .dwp), which krait does not read.
 */
#ifndef KRAIT_NATIVE_NAMES_SOURCE_LINES_H
#define KRAIT_NATIVE_NAMES_SOURCE_LINES_H

#include <linux/types.h>
#include <sys/types.h>

#include "base/data/source_frame.h"

struct module;
struct native_files;
struct source_lines;

/* files: borrowed; it must have them open. NULL: out of memory. */
struct source_lines *source_lines__new(struct native_files *files)
	__attribute__((warn_unused_result, nonnull));
void source_lines__free(struct source_lines *s);
/* Starts what it takes to start parsers, while krait still has all its rights. */
void source_lines__prepare(struct source_lines *s) __attribute__((nonnull));

/*
 * Asks about these offsets in the module's file, at most PARSER_PLACES_MAX. Returns the number of
 * answers, for the first offsets, at least one; they are valid until the next call. -EAGAIN: not
 * now; -errno: none.
 */
int source_lines__find(struct source_lines *s, const struct module *module, const __u64 *offsets,
		       __u32 cnt) __attribute__((warn_unused_result, nonnull));
/* Answer number i: fills as many of ret[SOURCE_FRAMES_MAX] as it returns, as dwarf_source__find(). */
unsigned source_lines__at(const struct source_lines *s, __u32 i, struct source_frame *ret)
	__attribute__((nonnull));

/* Whose file that is, as parsers are given out: 0, root's, where it is not open. */
uid_t source_lines__owner(const struct source_lines *s, const struct module *module)
	__attribute__((nonnull));

/* Logs that inlined functions are missing because of split DWARF, if they are. */
void source_lines__say_missing(const struct source_lines *s) __attribute__((nonnull));

#endif /* KRAIT_NATIVE_NAMES_SOURCE_LINES_H */
