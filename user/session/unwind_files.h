/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_files.h - the numbers that files have in the kernel's tables (bpf/rows.h).
 *
 * There are UNWIND_FILES_MAX of them, and a recording of a whole machine may meet more files than that. A
 * module keeps its number, and its rows, as long as a process maps it, and after that until another module
 * needs the number: of those that nobody maps the one goes whose rows were of use longest ago.
 *
 * Must hold: while a number is held it stands for one module; when it passes to another module its rows are gone.
 */
#ifndef KRAIT_SESSION_UNWIND_FILES_H
#define KRAIT_SESSION_UNWIND_FILES_H

#include <linux/types.h>

struct module;
struct unwind_files;
struct unwind_tables;

/* The tables are borrowed. NULL: out of memory. */
struct unwind_files *unwind_files__new(struct unwind_tables *tables);
void unwind_files__free(struct unwind_files *f);

/* The module's number, with one more user; 0: all are in use, or no memory. */
__u32 unwind_files__hold(struct unwind_files *f, const struct module *module);
/* A number for code that is no file's, to be released once. 0 as above. */
__u32 unwind_files__hold_made(struct unwind_files *f);
/* One user fewer. Rows of code that is no file's go with it. 0: nothing. */
void unwind_files__release(struct unwind_files *f, __u32 number);
/* The number that the module has, held or not; 0 none. */
__u32 unwind_files__find(const struct unwind_files *f, const struct module *module);

/* Modules for which there was no number. */
__u64 unwind_files__refused(const struct unwind_files *f);

#endif /* KRAIT_SESSION_UNWIND_FILES_H */
