/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbol_ranges.h - the parts of a module in which every address has the same symbol: they begin where a
 * symbol begins or ends.
 *
 * Of symbols that cover an address the one counts that libdwfl's dwfl_module_addrinfo() would mostly take:
 * those that other files can see before those that they cannot, of these the one that begins last, and
 * where that is the same, by binding and then by size. One without a size (hand-written code) counts up to
 * the next symbol, or the end of its section, where none with a size is. elfutils goes through all symbols for
 * each address (0.188); here a file of 200,000 symbols and any number of addresses costs one sort.
 */
#ifndef KRAIT_SYMBOL_SYMBOL_RANGES_H
#define KRAIT_SYMBOL_SYMBOL_RANGES_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>

/* A symbol without a size is believed for so many bytes. */
#define SYMBOL_SIZELESS 4096U

struct symbol_range {
	GElf_Addr start; /* up to the next one's */
	bool is_edge; /* a section begins or ends there */
	const char *name; /* as it is in the file; NULL none */
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
