/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_numbers.h - resolves the numbers in a unit of split DWARF: addresses, which are in the
 * program's own file, and lists of ranges, which are there in DWARF 4, and in the .dwo in DWARF 5.
 *
 * Must hold: numbers, lengths and lists are untrusted, so nothing outside of the files' data is
 * read, and every list ends.
 */
#ifndef KRAIT_SYMBOL_DWARF_NUMBERS_H
#define KRAIT_SYMBOL_DWARF_NUMBERS_H

#include <elfutils/libdw.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* Ranges of one function or unit. */
#define DWARF_PIECES_MAX 100000U

struct dwarf_numbers {
	unsigned version;
	Dwarf_Addr base; /* of the unit: ranges are relative to it */
	const __u8 *addresses; /* the unit's, borrowed from the program's file; eight bytes each */
	size_t addresses_size;
	/* borrowed: .debug_rnglists.dwo in version 5, the unit's part of .debug_ranges in version 4 */
	const __u8 *lists;
	size_t lists_size;
};

/* Initialises from the skeleton; for version 5 the caller adds the lists. */
void dwarf_numbers_begin(struct dwarf_numbers *n, Dwarf_Die *skeleton) __attribute__((nonnull));

/* Like dwarf_pieces(), for a DIE of the split unit. */
int dwarf_numbers_pieces(const struct dwarf_numbers *n, Dwarf_Die *die,
			 int (*fn)(void *ctx, Dwarf_Addr start, Dwarf_Addr end), void *ctx)
	__attribute__((nonnull(1, 2, 3)));

/* Is the attribute a text by number? */
bool dwarf_number_of_text(const Dwarf_Attribute *at, __u64 *ret) __attribute__((nonnull));

#endif /* KRAIT_SYMBOL_DWARF_NUMBERS_H */
