/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_units.h - which compilation unit of a file, and which function of it, has an address.
 *
 * .debug_aranges would say, but clang and rustc leave it out, and libdw goes through all of a unit for each
 * address. So the ranges of all units, and of the functions in each that is asked for, are read once and sorted.
 *
 * Must hold: the file is anybody's, so this runs in a parser only; memory and depth are bounded.
 */
#ifndef KRAIT_SYMBOL_DWARF_UNITS_H
#define KRAIT_SYMBOL_DWARF_UNITS_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>

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
	bool read;
	struct dwarf_range_list functions;
};

/* All zero at first, but for the DWARF. */
struct dwarf_units {
	Dwarf *dwarf; /* borrowed */
	bool made;
	struct dwarf_range_list ranges; /* die: number of the unit */
	struct dwarf_unit *units;
	size_t cnt, cap;
	size_t function_cnt; /* of all */
};

/*
 * The unit's DIE, false where there is none, and that of the function; *ret_known: there is one (assembler
 * has lines, and no functions).
 */
bool dwarf_units_find(struct dwarf_units *u, Dwarf_Addr address, Dwarf_Die *ret_unit,
		      Dwarf_Die *ret_function, bool *ret_known)
	__attribute__((warn_unused_result, nonnull));
void dwarf_units_free(struct dwarf_units *u) __attribute__((nonnull));

#endif /* KRAIT_SYMBOL_DWARF_UNITS_H */
