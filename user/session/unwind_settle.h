/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_settle.h - the rows of the files that a process maps: read by a parser, given to the kernel's tables.
 *
 * Must hold: a file whose rows could not be asked for now is none that has none.
 */
#ifndef KRAIT_SESSION_UNWIND_SETTLE_H
#define KRAIT_SESSION_UNWIND_SETTLE_H

#include <linux/types.h>
#include <stdbool.h>

struct mapping;
struct process;
struct unwind_files;
struct unwind_tables;

/* Which files come first: those that every stack goes through, then the many small ones. Below UNWIND_TURNS. */
#define UNWIND_TURNS 4
int unwind_turn(const struct mapping *m);

/* Code that was made, and what the kernel maps beside [vdso], have no file. */
bool unwind_has_file(const struct mapping *m);
/* It has rows, or none for good. */
bool unwind_is_settled(const struct unwind_tables *tables, const struct unwind_files *files,
		       const struct mapping *m);
/* The rows of a mapping's file are there from now on, if they can be. False: they may be later. */
bool unwind_settle(struct unwind_tables *tables, const struct unwind_files *files,
		   struct process *p, const struct mapping *m, __u64 now_ns);

#endif /* KRAIT_SESSION_UNWIND_SETTLE_H */
