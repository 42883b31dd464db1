/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_settle.h - the rows of the files that a process maps: a parser reads them, and they go
 * into the kernel's tables.
 *
 * Must hold: a file whose rows could not be requested yet does not count as a file without rows.
 */
#ifndef KRAIT_RECORD_UNWINDING_UNWIND_SETTLE_H
#define KRAIT_RECORD_UNWINDING_UNWIND_SETTLE_H

#include <linux/types.h>
#include <stdbool.h>

struct mapping;
struct process;
struct unwind_files;
struct unwind_tables;

/* Priority, below UNWIND_TURNS: first the files that every stack passes, then the many small ones. */
#define UNWIND_TURNS 4
int unwind_turn(const struct mapping *m);

/* Generated code, and what the kernel maps besides [vdso], has no file. */
bool unwind_has_file(const struct mapping *m);
/* The number of a mapping's file; 0: it has none. */
__u32 unwind_file_of(const struct unwind_files *files, const struct mapping *m);
/* Has the file rows, or none for good, or did it lose them and waits for a walk that misses them? */
bool unwind_is_settled(const struct unwind_tables *tables, __u32 number);
/* Has a walk missed its rows, which may be there? */
bool unwind_is_missed(struct unwind_tables *tables, __u32 number);
/* Makes the rows of a mapping's file available, if possible. False: try again later. */
bool unwind_settle(struct unwind_tables *tables, __u32 number, struct process *p,
		   const struct mapping *m, __u64 now_ns);

#endif /* KRAIT_RECORD_UNWINDING_UNWIND_SETTLE_H */
