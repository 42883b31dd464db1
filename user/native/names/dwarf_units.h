/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_units.h - finds the compilation unit, and the function in it, that contain an address.
 *
 * .debug_aranges would help, but clang and rustc omit it, and libdw walks a whole unit for each
 * address. So the ranges of all units, and of the functions in each unit that is asked about, are
 * read once and sorted.
 *
 * Must hold: the file is untrusted, so this runs in a parser only; memory and depth are bounded.
 * Nothing is opened here: what split DWARF keeps in other files (.dwo, .dwp) is not read.
 */
#ifndef KRAIT_NATIVE_NAMES_DWARF_UNITS_H
#define KRAIT_NATIVE_NAMES_DWARF_UNITS_H

#include <elfutils/libdw.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

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
	/* split DWARF: its functions are described in another file, this one has only lines */
	bool is_split;
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
};

struct dwarf_place {
	Dwarf_Die unit, function;
	bool known; /* a function is known (assembler has lines, but no functions) */
	bool is_split; /* functions inlined there are described in another file */
};

/* dwarf: borrowed; NULL: there is none. */
void dwarf_units_begin(struct dwarf_units *u, Dwarf *dwarf) __attribute__((nonnull(1)));
/* What is at that address; false if no unit contains it. Valid until the next call. */
bool dwarf_units_find(struct dwarf_units *u, Dwarf_Addr address, struct dwarf_place *ret)
	__attribute__((warn_unused_result, nonnull));
/* Returns 0 to go on. */
typedef int (*dwarf_piece_fn)(void *ctx, Dwarf_Addr start, Dwarf_Addr end);
/* Calls fn for each address range of a DIE. Returns 0, or the result of fn. */
int dwarf_pieces(Dwarf_Die *die, dwarf_piece_fn fn, void *ctx) __attribute__((nonnull(1, 2)));
void dwarf_units_free(struct dwarf_units *u) __attribute__((nonnull));

#endif /* KRAIT_NATIVE_NAMES_DWARF_UNITS_H */
