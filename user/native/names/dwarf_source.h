/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_source.h - the source file and line of an address, and the functions inlined there.
 *
 * Must hold: as dwarf_units.h.
 */
#ifndef KRAIT_NATIVE_NAMES_DWARF_SOURCE_H
#define KRAIT_NATIVE_NAMES_DWARF_SOURCE_H

#include <elfutils/libdwfl.h>
#include <linux/types.h>
#include <stdbool.h>

#include "base/data/source_frame.h"

struct dwarf_source;

/* For a module that outlives it. NULL: out of memory. */
struct dwarf_source *dwarf_source__new(Dwfl_Module *module) __attribute__((warn_unused_result));
void dwarf_source__free(struct dwarf_source *s);

/*
 * Fills as many of ret[SOURCE_FRAMES_MAX] as it returns, from the outermost on; 0 if DWARF has
 * nothing. Names are mangled, as in the file; texts are valid until the next call. address:
 * includes the module's bias. *ret_is_split: other files describe what was inlined there.
 */
unsigned dwarf_source__find(struct dwarf_source *s, Dwarf_Addr address, struct source_frame *ret,
			    bool *ret_is_split) __attribute__((nonnull));

#endif /* KRAIT_NATIVE_NAMES_DWARF_SOURCE_H */
