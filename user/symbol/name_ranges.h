/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * name_ranges.h - what parsers have said of the offsets of one file: ranges that are alike, and the functions
 * that they are of.
 *
 * Must hold: ranges are by start, and none overlap; a symbol stays where it is until all are cleared.
 */
#ifndef KRAIT_SYMBOL_NAME_RANGES_H
#define KRAIT_SYMBOL_NAME_RANGES_H

#include <linux/types.h>
#include <stddef.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "symbol/native_files.h"
#include "target/parser_protocol.h"

/* A function of a file, by its start; what has no name by the offset itself. */
struct native_function {
	struct native_symbol symbol;
	__u64 start;
	char *name;
	UT_hash_handle hh;
};

/* What the parser has said of offsets from start up to end. */
struct name_range {
	__u64 start, end;
	struct native_function *function; /* NULL: no name */
};

/* All zeroes at first, but for the module. */
struct name_ranges {
	struct module *module; /* borrowed */
	struct name_range *ranges;
	size_t range_cnt, range_cap;
	struct native_function *functions;
	struct native_function *rest; /* when there is no room for more */
};

void name_ranges_clear(struct name_ranges *n);
/* The range of that offset; NULL nothing is known. Valid until the next one is added. */
const struct name_range *name_ranges_at(const struct name_ranges *n, __u64 offset);
/*
 * The place that a parser has found for an offset of which nothing is known; names: of the same answer.
 * *symbol_cnt: functions of all files, at most NATIVE_SYMBOLS_MAX. NULL where there is no room.
 */
const struct name_range *name_ranges_add(struct name_ranges *n, __u64 offset,
					 const struct parser_place *place, const char *names,
					 __u32 *symbol_cnt);
/* What had no name may have one now: nothing is known of it. */
void name_ranges_forget_unnamed(struct name_ranges *n);
/* What stands for all that has no name of its own; NULL when out of memory. */
struct native_symbol *name_ranges_rest(struct name_ranges *n);

#endif /* KRAIT_SYMBOL_NAME_RANGES_H */
