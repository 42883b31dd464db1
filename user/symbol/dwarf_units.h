/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_units.h - which compilation unit of a file, and which function of it, has an address.
 *
 * .debug_aranges would say, but clang and rustc leave it out, and libdw goes through all of a unit for each
 * address. So the ranges of all units, and of the functions in each that is asked for, are read once and sorted.
 *
 * Must hold: the file is anybody's, so this runs in a parser only; memory and depth are bounded. Nothing is opened here:
 * what else is wanted is asked for.
 */
#ifndef KRAIT_SYMBOL_DWARF_UNITS_H
#define KRAIT_SYMBOL_DWARF_UNITS_H

#include <elfutils/libdw.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "symbol/dwarf_halves.h"

/* Of all units of a file; 24 bytes each. libtorch has 300,000. */
#define DWARF_RANGES_MAX 4000000U
/* Of functions that are kept, of all units together; units that were asked before are read again then. */
#define DWARF_FUNCTIONS_MAX 2000000U

struct dwarf_range {
	Dwarf_Addr start, end;
	Dwarf_Off die;
	__u32 depth; /* functions within functions come behind those that have them */
};

struct dwarf_range_list {
	struct dwarf_range *list;
	size_t cnt, cap;
};

struct dwarf_unit {
	Dwarf_Off die;
	__u64 id;
	bool is_half; /* its functions are in another file: split DWARF leaves addresses and lines here */
	bool missing; /* the other half is, for good */
	bool read;
	struct dwarf_range_list functions;
};

struct dwarf_units {
	Dwarf *dwarf; /* borrowed */
	bool made;
	struct dwarf_range_list ranges; /* die: number of the unit */
	struct dwarf_unit *units;
	size_t cnt, cap;
	size_t function_cnt; /* of all */
	struct dwarf_halves halves;
	size_t wanting; /* number of the unit whose half was wanted last: another may have the same id */
};

struct dwarf_place {
	Dwarf_Die unit, function;
	bool known; /* there is a function (assembler has lines, and no functions) */
	struct dwarf_split *split; /* it is from there; NULL: from the file */
	struct dwarf_wanted wanted;
};

/* dwarf: borrowed; NULL: there is none. */
void dwarf_units_begin(struct dwarf_units *u, Dwarf *dwarf) __attribute__((nonnull(1)));
/* What is at that address; false where there is no unit. Valid until the next call. */
bool dwarf_units_find(struct dwarf_units *u, Dwarf_Addr address, struct dwarf_place *ret)
	__attribute__((warn_unused_result, nonnull));
/*
 * What was wanted; the descriptor stays the caller's, -1: there is none. 0; -ENOENT: no unit wants it; -ESTALE: the file
 * is of another unit; -errno: it is of no use. Whatever comes of it, the same is not wanted again.
 */
int dwarf_units_add_package(struct dwarf_units *u, int fd)
	__attribute__((warn_unused_result, nonnull));
int dwarf_units_add_half(struct dwarf_units *u, __u64 id, int fd)
	__attribute__((warn_unused_result, nonnull));
void dwarf_units_free(struct dwarf_units *u) __attribute__((nonnull));

#endif /* KRAIT_SYMBOL_DWARF_UNITS_H */
