/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tables.h - fills the tables that the kernel unwinds with (bpf/rows.h): rows of files, mappings of
 * processes.
 *
 * The memory is the kernel's maps, or, in tests, any. Rows are shared by all processes of a file. When the
 * limit is reached the file whose rows were of use longest ago loses them; its number stays, and
 * `wanted` says when a walk has come by again.
 *
 * Must hold: what a walk can reach is never written over: unwind_control.epoch changes between taking
 * back what led to it and using the place again.
 */
#ifndef KRAIT_UNWIND_TABLES_H
#define KRAIT_UNWIND_TABLES_H

#include <linux/types.h>
#include <stdbool.h>

#include "rows.h"

struct unwind_tables;

/* Where the tables are; all of it zeroes at first. */
struct unwind_memory {
	struct unwind_file *files; /* UNWIND_FILES_MAX */
	struct unwind_space *spaces; /* UNWIND_SPACES_MAX */
	struct unwind_control *control;
	/* One more slab, the kernel's from now on as number; NULL: there is none. */
	struct unwind_slab *(*new_slab)(void *ctx, __u32 number);
	void *ctx;
};

/* As it was given; of a slab NULL: there is none of that number. */
const struct unwind_memory *unwind_tables__memory(const struct unwind_tables *t);
const struct unwind_slab *unwind_tables__slab(const struct unwind_tables *t, __u32 number);

/* Rows of a file as a parser hands them out: pages have so many each, one behind the other. */
struct unwind_rows {
	__u32 first_page, page_cnt, rule_cnt, row_cnt;
	const struct unwind_rule *rules;
	const __u32 *page_rows; /* how many each page has */
	const __u32 *rows;
};

/* NULL when out of memory. bytes: the limit for slabs; at least one slab is made. */
struct unwind_tables *unwind_tables__new(const struct unwind_memory *memory, __u64 bytes);
void unwind_tables__free(struct unwind_tables *t);

/*
 * A file's number is its user's choice, below UNWIND_FILES_MAX; 0 is none. 0; -EINVAL: the counts do not agree;
 * -ENOSPC: there is no room, and nothing of old to drop.
 */
int unwind_tables__set_rows(struct unwind_tables *t, __u32 file, const struct unwind_rows *rows,
			    __u32 now) __attribute__((warn_unused_result));
/* The number is another file's from now on: nothing is known of it. */
void unwind_tables__forget(struct unwind_tables *t, __u32 file);
/* When its rows were of use last, in units of UNWIND_NOW_SHIFT. */
__u32 unwind_tables__used(const struct unwind_tables *t, __u32 file);
/* It has no rows, and will not have any. */
void unwind_tables__set_none(struct unwind_tables *t, __u32 file);
/* Has a walk missed its rows since it was asked last? */
bool unwind_tables__is_wanted(struct unwind_tables *t, __u32 file);
/* It has rows, or has none for good. */
bool unwind_tables__is_settled(const struct unwind_tables *t, __u32 file);

/*
 * Mappings of a process, by start, none over another; for the space of that number, or with 0 a new one.
 * Its number, or 0: there is no room.
 */
__u32 unwind_tables__set_space(struct unwind_tables *t, __u32 space,
			       const struct unwind_mapping *list, __u32 cnt);
void unwind_tables__drop_space(struct unwind_tables *t, __u32 space);

struct unwind_tables_stats {
	__u64 slabs, rows, files,
		dropped; /* files with rows; rows dropped for want of room, by file */
};
const struct unwind_tables_stats *unwind_tables__stats(const struct unwind_tables *t);

#endif /* KRAIT_UNWIND_TABLES_H */
