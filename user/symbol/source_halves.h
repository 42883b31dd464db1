/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source_halves.h - gives parsers the files of split DWARF that they want (symbol/dwarf_halves.h):
 * the package beside the program's file, FILE.dwp, and the .dwo file of each compilation unit met.
 *
 * Must hold: names are untrusted (symbol/dwo_opener.h); the number of opened files is bounded, and
 * unused ones are counted.
 */
#ifndef KRAIT_SYMBOL_SOURCE_HALVES_H
#define KRAIT_SYMBOL_SOURCE_HALVES_H

#include <linux/types.h>
#include <sys/types.h>

struct module;
struct parser_sources;
struct source_halves;
struct symbol_file;
struct symbol_reader;

/* Per file; for code met after that many, none are opened. */
#define SOURCE_HALVES_MAX 4096U

/* What happened to the wanted files. */
struct source_half_counts {
	__u32 used;
	__u32 missing; /* do not exist */
	__u32 refused; /* because of their owner, the kind of file, or no answer in time */
	__u32 stale; /* of another build */
	__u32 unreadable; /* by a parser, or too large */
	__u32 beyond; /* SOURCE_HALVES_MAX */
};

/* reader: borrowed. NULL when out of memory. */
struct source_halves *source_halves__new(struct symbol_reader *reader)
	__attribute__((warn_unused_result, nonnull));
void source_halves__free(struct source_halves *h);

/*
 * Gives the parser what the answer wants, or says that it does not exist. asked: count for that
 * file so far. Returns 0, or -errno: give up.
 */
int source_halves__give(struct source_halves *h, struct symbol_file *f, const struct module *module,
			const struct parser_sources *answer, __u32 *asked)
	__attribute__((warn_unused_result, nonnull));

/* As dwo_opener__look_in(). */
void source_halves__look_in(struct source_halves *h, pid_t pid, __u64 start_ticks)
	__attribute__((nonnull));

const struct source_half_counts *source_halves__counts(const struct source_halves *h)
	__attribute__((nonnull));
/* Logs that inlined functions are missing, and why, if they are. */
void source_halves__say_missing(const struct source_halves *h) __attribute__((nonnull));

#endif /* KRAIT_SYMBOL_SOURCE_HALVES_H */
