/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbol_ranges.h - the parts of a module in which every address has the same symbols: they begin where
 * a symbol begins or ends.
 *
 * elfutils goes through all symbols of a module for each address (libdwfl 0.188); a program has some
 * hundred functions and many thousand addresses, so each part is asked for once.
 */
#ifndef KRAIT_SYMBOL_SYMBOL_RANGES_H
#define KRAIT_SYMBOL_SYMBOL_RANGES_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>

/* A symbol without a size is believed for so many bytes. */
#define SYMBOL_SIZELESS 4096U

struct symbol_range {
	GElf_Addr start; /* up to the next one's */
	bool asked;
	const char *name; /* the answer; NULL none */
	GElf_Addr symbol_start;
};

/* All zero at first. */
struct symbol_ranges {
	struct symbol_range *list;
	size_t cnt;
	bool made;
};

/*
 * The part of an address, and where the next one begins; NULL where there are no parts: too many
 * symbols, or no memory. The module stays the same.
 */
struct symbol_range *symbol_ranges_find(struct symbol_ranges *p, Dwfl_Module *module,
					GElf_Addr address, GElf_Addr *ret_end);
void symbol_ranges_free(struct symbol_ranges *p);

#endif /* KRAIT_SYMBOL_SYMBOL_RANGES_H */
