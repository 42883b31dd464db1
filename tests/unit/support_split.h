/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_split.h - builds two sources as a library with split DWARF and asks about it. Everything
 * is in split_folder and made by compilers that may be missing.
 */
#ifndef KRAIT_TESTS_SUPPORT_SPLIT_H
#define KRAIT_TESTS_SUPPORT_SPLIT_H

#include <stdbool.h>

#include "support_folder.h"
#include "symbol/elf_symbols.h"

extern char split_folder[TEST_FOLDER_MAX];

/* A group's setup: the folder with the sources. */
int split_setup(void **state);
int split_teardown(void **state);

/* Runs a shell in the folder. Returns whether it succeeds. */
bool split_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Tells whether that program exists. */
bool split_has(const char *tool);

/*
 * Builds split.so with that compiler and version of DWARF, with split-first.dwo and
 * split-second.dwo; and plain.so, the same in one file. Returns false if that is impossible here.
 * more: options for both.
 */
bool split_build(const char *cc, unsigned version);
bool split_build_both(const char *cc, unsigned version, const char *more);

/* Opens name.so and finds the code's position in the file. */
struct elf_symbols *split_open(const char *name);
void split_code(const char *name, __u64 *ret_start, __u64 *ret_end);

/* The sources of a library's answers. */
struct source {
	struct elf_symbols *symbols;
	const char *package; /* its file's name; NULL: none */
	const char *instead; /* the file for every unit; NULL: the one that the unit names */
	unsigned packages, halves; /* number of requests */
	int err; /* the last error */
};

/*
 * Returns the frames at an offset of the file, innermost first, at most SOURCE_FRAMES_MAX; opens
 * requested files.
 */
unsigned source_ask(struct source *s, __u64 offset, struct source_frame *frames);

#endif /* KRAIT_TESTS_SUPPORT_SPLIT_H */
