/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_split.h - two sources as a library whose debug information is in files of its own (split DWARF), and its answers.
 * All is made in split_folder, by compilers that may not be here.
 */
#ifndef KRAIT_TESTS_SUPPORT_SPLIT_H
#define KRAIT_TESTS_SUPPORT_SPLIT_H

#include <stdbool.h>

#include "support_folder.h"
#include "symbol/elf_symbols.h"

extern char split_folder[TEST_FOLDER_MAX];

/* For a group of tests: the folder, with the sources in it. */
int split_setup(void **state);
int split_teardown(void **state);

/* Whether a shell, in the folder, ends well. */
bool split_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether there is such a program. */
bool split_has(const char *tool);

/* split.so, of that compiler and version of DWARF, with split-first.dwo and split-second.dwo; and plain.so, the same with all
 * in one file. false: cannot be built here. more: options for both. */
bool split_build(const char *cc, unsigned version);
bool split_build_both(const char *cc, unsigned version, const char *more);

/* name.so, and where its code is in the file. */
struct elf_symbols *split_open(const char *name);
void split_code(const char *name, __u64 *ret_start, __u64 *ret_end);

/* What a library's answers are made of. */
struct source {
	struct elf_symbols *symbols;
	const char *package; /* its file's name; NULL none */
	const char *instead; /* the file of every unit; NULL: the one that it names */
	unsigned packages, halves; /* that were asked for */
	int err; /* the last thing that came of one */
};

/* The frames at an offset of the file, innermost first, SOURCE_FRAMES_MAX at most; opens what is asked for. */
unsigned source_ask(struct source *s, __u64 offset, struct source_frame *frames);

#endif /* KRAIT_TESTS_SUPPORT_SPLIT_H */
