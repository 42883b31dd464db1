/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_numbers.h - what the numbers in a unit of split DWARF stand for: addresses, which the program's own file has, and
 * lists of ranges, which it has in DWARF 4, and the .dwo in DWARF 5.
 *
 * Must hold: numbers, lengths and lists are anybody's, so nothing is taken from outside of what the files have, and a
 * list ends.
 */
#ifndef KRAIT_SYMBOL_DWARF_NUMBERS_H
#define KRAIT_SYMBOL_DWARF_NUMBERS_H

#include <elfutils/libdw.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* Pieces of one function or unit. */
#define DWARF_PIECES_MAX 100000U

struct dwarf_numbers {
	unsigned version;
	Dwarf_Addr base; /* of the unit: ranges count from there */
	const __u8 *addresses; /* the unit's, borrowed from the program's file; eight bytes each */
	size_t addresses_size;
	const __u8 *
		lists; /* version 5: .debug_rnglists.dwo; 4: the unit's of .debug_ranges. Borrowed */
	size_t lists_size;
};

/* As the skeleton says; in version 5 without lists, which its user adds. */
void dwarf_numbers_begin(struct dwarf_numbers *n, Dwarf_Die *skeleton) __attribute__((nonnull));

/* As dwarf_pieces() of a DIE of the split unit. */
int dwarf_numbers_pieces(const struct dwarf_numbers *n, Dwarf_Die *die,
			 int (*fn)(void *ctx, Dwarf_Addr start, Dwarf_Addr end), void *ctx)
	__attribute__((nonnull(1, 2, 3)));

/* Is the attribute's text one by number? */
bool dwarf_number_of_text(const Dwarf_Attribute *at, __u64 *ret) __attribute__((nonnull));

#endif /* KRAIT_SYMBOL_DWARF_NUMBERS_H */
