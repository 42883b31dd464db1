/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_files.h - the numbers of files in the kernel's tables (bpf/native/rows.h).
 *
 * There are UNWIND_FILES_MAX of them, and a recording of a whole machine may meet more files than
 * that. A module keeps its number, and its rows, as long as a process maps it, and after that until
 * another module needs the number. Among modules that nobody maps, the one whose rows were least
 * recently used loses its number first.
 *
 * The file's owner on disk pays for its number and its rows. For root's files, and until somebody has opened it, the owner of
 * the processes that map it pays. If several owners map it, root pays as long as root has no more than its reserve, then the
 * first of them. So whoever maps many files takes no numbers from others (base/share/quota.h) and loses his own rows
 * (native/rows/tables.c), and two who map copies together do not make root pay for them.
 *
 * Must hold: while a number is held it stands for one module; when it passes to another module its
 * rows are gone.
 */
#ifndef KRAIT_RECORD_UNWINDING_UNWIND_FILES_H
#define KRAIT_RECORD_UNWINDING_UNWIND_FILES_H

#include <linux/types.h>

struct module;
struct unwind_files;
struct unwind_tables;

/* The tables are borrowed. NULL: out of memory. */
struct unwind_files *unwind_files__new(struct unwind_tables *tables);
void unwind_files__free(struct unwind_files *f);

/* Takes a reference on the module's number; 0: its owner has too many, or no memory. */
__u32 unwind_files__hold(struct unwind_files *f, const struct module *module, unsigned owner);
/* A process of that owner, too, maps what a held number stands for. */
void unwind_files__share(struct unwind_files *f, __u32 number, unsigned owner);
/* The file of a held number is that owner's, who is not root. If he has too many, nothing changes. */
void unwind_files__set_payer(struct unwind_files *f, __u32 number, unsigned owner);
/* A number for code without a file; release it once. 0 as above. */
__u32 unwind_files__hold_made(struct unwind_files *f, unsigned owner);
/* Drops a reference. Rows of code without a file go with it. 0: nothing to do. */
void unwind_files__release(struct unwind_files *f, __u32 number);
/* The module's number, held or not; 0: none. */
__u32 unwind_files__find(const struct unwind_files *f, const struct module *module);

#endif /* KRAIT_RECORD_UNWINDING_UNWIND_FILES_H */
