/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * name_ranges.h - parsers' answers about the offsets of one file: ranges with the same answer, and
 * their functions.
 *
 * Must hold: ranges are sorted by start and do not overlap; a symbol does not move until all are
 * cleared.
 */
#ifndef KRAIT_NATIVE_NAMES_NAME_RANGES_H
#define KRAIT_NATIVE_NAMES_NAME_RANGES_H

#include <linux/types.h>
#include <stddef.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "native/names/native_files.h"
#include "process/parser/parser_protocol.h"

/* A function of a file, identified by its start; code without a name, by the offset itself. */
struct native_function {
	struct native_symbol symbol;
	__u64 start;
	char *name;
	UT_hash_handle hh;
};

/* The parser's answer for offsets from start up to end. */
struct name_range {
	__u64 start, end;
	struct native_function *function; /* NULL: no name */
};

/* All zeroes initially, except the module. */
struct name_ranges {
	struct module *module; /* borrowed */
	struct name_range *ranges;
	size_t range_cnt, range_cap;
	struct native_function *functions;
	struct native_function *rest; /* used when there is no room for more */
};

void name_ranges_clear(struct name_ranges *n);
/* The range that contains the offset; NULL: unknown. Valid until the next one is added. */
const struct name_range *name_ranges_at(const struct name_ranges *n, __u64 offset);
/*
 * Adds the place that a parser found for an unknown offset; names: from the same answer.
 * *symbol_cnt: functions of all files, at most NATIVE_SYMBOLS_MAX. NULL: no room.
 */
const struct name_range *name_ranges_add(struct name_ranges *n, __u64 offset,
					 const struct parser_place *place, const char *names,
					 __u32 *symbol_cnt);
/* Forgets ranges without a name: they may have one now. */
void name_ranges_forget_unnamed(struct name_ranges *n);
/* The symbol for all code without its own name; NULL: out of memory. */
struct native_symbol *name_ranges_rest(struct name_ranges *n);

#endif /* KRAIT_NATIVE_NAMES_NAME_RANGES_H */
