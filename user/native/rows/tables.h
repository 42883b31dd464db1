/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tables.h - fills the tables that the kernel unwinds with (bpf/native/rows.h): rows of files, mappings of
 * processes.
 *
 * The memory is in the kernel's maps, or, in tests, anywhere. All processes that map a file share
 * its rows. At the limit a file loses its rows: of the owner who has most of the room (tables.c) the
 * one whose rows were least recently used. Its number stays, and `wanted` says when a walk misses them
 * again. Mappings are never dropped; they are refused to whoever has too many (base/share/quota.h).
 *
 * Must hold: what a walk can reach is never overwritten: unwind_control.epoch changes between
 * unlinking something and reusing its place.
 */
#ifndef KRAIT_NATIVE_ROWS_TABLES_H
#define KRAIT_NATIVE_ROWS_TABLES_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/native/rows.h"

struct unwind_tables;

/* Where the tables are; initially all zeroes. */
struct unwind_memory {
	struct unwind_file *files; /* UNWIND_FILES_MAX */
	struct unwind_space *spaces; /* UNWIND_SPACES_MAX */
	struct unwind_control *control;
	/*
	 * Makes another slab, which is the kernel's under that number from now on; NULL:
	 * impossible.
	 */
	struct unwind_slab *(*new_slab)(void *ctx, __u32 number);
	void *ctx;
};

/* The memory passed to the constructor; slab() returns NULL for an unknown number. */
const struct unwind_memory *unwind_tables__memory(const struct unwind_tables *t);
const struct unwind_slab *unwind_tables__slab(const struct unwind_tables *t, __u32 number);

/*
 * Rows of a file as a parser returns them: page_rows says how many each page has, one page after
 * the other.
 */
struct unwind_rows {
	__u32 first_page, page_cnt, rule_cnt, row_cnt;
	const struct unwind_rule *rules;
	const __u32 *page_rows; /* number of rows in each page */
	const __u32 *rows;
};

/* NULL: out of memory. bytes: the limit for slabs; at least one slab is made. */
struct unwind_tables *unwind_tables__new(const struct unwind_memory *memory, __u64 bytes);
void unwind_tables__free(struct unwind_tables *t);

/*
 * The caller chooses a file's number, below UNWIND_FILES_MAX; 0 is none. Returns 0; -EINVAL: the
 * counts are inconsistent; -ENOSPC: no room, and nothing to drop for its owner; a file larger than all the
 * room drops nothing.
 */
int unwind_tables__set_rows(struct unwind_tables *t, __u32 file, const struct unwind_rows *rows,
			    __u32 now) __attribute__((warn_unused_result));
/* Who pays for the file's rows (bpf/share.h): root, unless said otherwise. */
void unwind_tables__set_owner(struct unwind_tables *t, __u32 file, unsigned owner);
/* Has that owner any rows? */
bool unwind_tables__holds(const struct unwind_tables *t, unsigned owner);
unsigned unwind_tables__owner(const struct unwind_tables *t, __u32 file);
/* The number passes to another file: forgets everything about it. */
void unwind_tables__forget(struct unwind_tables *t, __u32 file);
/* When its rows were last used, in units of UNWIND_NOW_SHIFT. */
__u32 unwind_tables__used(const struct unwind_tables *t, __u32 file);
/* It has no rows, and will not have any. */
void unwind_tables__set_none(struct unwind_tables *t, __u32 file);
/* Did its rows go for want of room, or find none? Reading them again costs as much as the first time. */
bool unwind_tables__is_dropped(const struct unwind_tables *t, __u32 file);
/* Are they larger than all the room there is? */
bool unwind_tables__is_too_large(const struct unwind_tables *t, __u32 file);
/* Has a walk missed its rows since the last call? */
bool unwind_tables__is_wanted(struct unwind_tables *t, __u32 file);
/* Does it have rows, or none for good? */
bool unwind_tables__is_settled(const struct unwind_tables *t, __u32 file);

/*
 * Sets the mappings of a process, sorted by start, not overlapping; for the space with that number,
 * or 0: a new one. The owner pays. Returns its number, or 0: no room.
 */
__u32 unwind_tables__set_space(struct unwind_tables *t, __u32 space,
			       const struct unwind_mapping *list, __u32 cnt, unsigned owner);
void unwind_tables__drop_space(struct unwind_tables *t, __u32 space);

#endif /* KRAIT_NATIVE_ROWS_TABLES_H */
