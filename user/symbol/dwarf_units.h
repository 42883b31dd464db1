/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_units.h - finds the compilation unit, and the function in it, that contain an address.
 *
 * .debug_aranges would help, but clang and rustc omit it, and libdw walks a whole unit for each
 * address. So the ranges of all units, and of the functions in each unit that is asked about, are
 * read once and sorted.
 *
 * Must hold: the file is untrusted, so this runs in a parser only; memory and depth are bounded.
 * Nothing is opened here: other files are requested.
 */
#ifndef KRAIT_SYMBOL_DWARF_UNITS_H
#define KRAIT_SYMBOL_DWARF_UNITS_H

#include <elfutils/libdw.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "symbol/dwarf_halves.h"

/* All units of a file together; 24 bytes each. libtorch has 300,000. */
#define DWARF_RANGES_MAX 4000000U
/* Cached functions of all units together; beyond that, earlier units are read again when needed. */
#define DWARF_FUNCTIONS_MAX 2000000U

struct dwarf_range {
	Dwarf_Addr start, end;
	Dwarf_Off die;
	__u32 depth; /* nested functions come after those that contain them */
};

struct dwarf_range_list {
	struct dwarf_range *list;
	size_t cnt, cap;
};

struct dwarf_unit {
	Dwarf_Off die;
	__u64 id;
	/* its functions are in another file; this one has only addresses and lines (split DWARF) */
	bool is_half;
	bool missing; /* the other half is missing, for good */
	bool read;
	struct dwarf_range_list functions;
};

struct dwarf_units {
	Dwarf *dwarf; /* borrowed */
	bool made;
	struct dwarf_range_list ranges; /* die: number of the unit */
	struct dwarf_unit *units;
	size_t cnt, cap;
	size_t function_cnt; /* over all units */
	struct dwarf_halves halves;
	size_t wanting; /* the unit whose half was last requested: another may have the same id */
};

struct dwarf_place {
	Dwarf_Die unit, function;
	bool known; /* a function is known (assembler has lines, but no functions) */
	struct dwarf_split *split; /* the function's half; NULL: it is in the file itself */
	struct dwarf_wanted wanted;
};

/* dwarf: borrowed; NULL: there is none. */
void dwarf_units_begin(struct dwarf_units *u, Dwarf *dwarf) __attribute__((nonnull(1)));
/* What is at that address; false if no unit contains it. Valid until the next call. */
bool dwarf_units_find(struct dwarf_units *u, Dwarf_Addr address, struct dwarf_place *ret)
	__attribute__((warn_unused_result, nonnull));
/*
 * Supplies what was wanted; the caller keeps the descriptor; -1: it does not exist. Returns 0;
 * -ENOENT: no unit wants it; -ESTALE: the file is another unit's; -errno: it is unusable. In any
 * case the same is not requested again.
 */
int dwarf_units_add_package(struct dwarf_units *u, int fd)
	__attribute__((warn_unused_result, nonnull));
int dwarf_units_add_half(struct dwarf_units *u, __u64 id, int fd)
	__attribute__((warn_unused_result, nonnull));
void dwarf_units_free(struct dwarf_units *u) __attribute__((nonnull));

#endif /* KRAIT_SYMBOL_DWARF_UNITS_H */
