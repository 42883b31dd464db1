/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbol_ranges.h - splits a module into ranges whose addresses all have the same symbol: they
 * begin where a symbol begins or ends.
 *
 * Of several symbols that cover an address we choose the one that libdwfl's dwfl_module_addrinfo()
 * would mostly choose: those visible to other files come first, among these the one that begins
 * last, then by binding and by size. A symbol without a size (hand-written code) extends to the
 * next symbol, or the end of its section, where no symbol with a size is. elfutils goes through all
 * symbols for each address (0.188); here a file of 200,000 symbols and any number of addresses
 * costs one sort.
 */
#ifndef KRAIT_NATIVE_NAMES_SYMBOL_RANGES_H
#define KRAIT_NATIVE_NAMES_SYMBOL_RANGES_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>

/* A symbol without a size is believed for this many bytes. */
#define SYMBOL_SIZELESS 4096U

struct symbol_range {
	GElf_Addr start; /* up to the start of the next range */
	bool is_edge; /* a section begins or ends there */
	bool is_python; /* CPython's own code (symbol_ranges.c) */
	const char *name; /* as in the file; NULL: none */
	GElf_Addr symbol_start;
};

/* All zero initially. */
struct symbol_ranges {
	struct symbol_range *list;
	size_t cnt;
	bool made;
};

/*
 * The range of an address, and where the next one begins; NULL: no ranges, because of too many
 * symbols or no memory. Always call with the same module.
 */
struct symbol_range *symbol_ranges_find(struct symbol_ranges *p, Dwfl_Module *module,
					GElf_Addr address, GElf_Addr *ret_end);
void symbol_ranges_free(struct symbol_ranges *p);

#endif /* KRAIT_NATIVE_NAMES_SYMBOL_RANGES_H */
