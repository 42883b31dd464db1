/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source_halves.h - gives parsers the files of split DWARF that they want (symbol/dwarf_halves.h): the package beside the
 * program's file, FILE.dwp, and the .dwo file of each compilation unit that has been met.
 *
 * Must hold: names are anybody's (symbol/dwo_opener.h); what is opened is bounded, and what was not used is counted.
 */
#ifndef KRAIT_SYMBOL_SOURCE_HALVES_H
#define KRAIT_SYMBOL_SOURCE_HALVES_H

#include <linux/types.h>

struct module;
struct parser_sources;
struct source_halves;
struct symbol_file;
struct symbol_reader;

/* Of one file; those of code that is met later are not opened. */
#define SOURCE_HALVES_MAX 4096U

/* What became of those that were wanted. */
struct source_half_counts {
	__u32 used;
	__u32 missing; /* not there */
	__u32 refused; /* whose they are, or what kind of file, or no answer in time */
	__u32 stale; /* of another build */
	__u32 unreadable; /* by a parser, or larger than it reads */
	__u32 beyond; /* SOURCE_HALVES_MAX */
};

/* reader: borrowed. NULL when out of memory. */
struct source_halves *source_halves__new(struct symbol_reader *reader)
	__attribute__((warn_unused_result, nonnull));
void source_halves__free(struct source_halves *h);

/* The parser gets what the answer wants, or that there is none. asked: of that file, so far. 0, or -errno: give up. */
int source_halves__give(struct source_halves *h, struct symbol_file *f, const struct module *module,
			const struct parser_sources *answer, __u32 *asked)
	__attribute__((warn_unused_result, nonnull));

const struct source_half_counts *source_halves__counts(const struct source_halves *h)
	__attribute__((nonnull));
/* Says in the log that, and why, inlined functions are missing, if they are. */
void source_halves__say_missing(const struct source_halves *h) __attribute__((nonnull));

#endif /* KRAIT_SYMBOL_SOURCE_HALVES_H */
