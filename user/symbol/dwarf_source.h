/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_source.h - the source file and line of an address, and the functions inlined there.
 *
 * Must hold: as dwarf_units.h.
 */
#ifndef KRAIT_SYMBOL_DWARF_SOURCE_H
#define KRAIT_SYMBOL_DWARF_SOURCE_H

#include <elfutils/libdwfl.h>
#include <linux/types.h>

#include "symbol/dwarf_halves.h"
#include "util/source_frame.h"

struct dwarf_source;

/* For a module that outlives it. NULL: out of memory. */
struct dwarf_source *dwarf_source__new(Dwfl_Module *module) __attribute__((warn_unused_result));
void dwarf_source__free(struct dwarf_source *s);

/*
 * Fills as many of ret[SOURCE_FRAMES_MAX] as it returns, from the outermost on; 0 if DWARF has
 * nothing, or something is wanted first. Names are mangled, as in the file; texts are valid until
 * the next call. address: includes the module's bias.
 */
unsigned dwarf_source__find(struct dwarf_source *s, Dwarf_Addr address, struct source_frame *ret,
			    struct dwarf_wanted *ret_wanted) __attribute__((nonnull));
/* As dwarf_units_add_package(), dwarf_units_add_half(). */
int dwarf_source__add(struct dwarf_source *s, enum dwarf_want what, __u64 id, int fd)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_SYMBOL_DWARF_SOURCE_H */
