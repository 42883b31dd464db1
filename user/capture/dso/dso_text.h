/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dso_text.h - the names of the DSO's functions, and their DWARF.
 *
 * Must hold: all texts are printable (base/text/printable.h), because tools pass them on line by line.
 */
#ifndef KRAIT_CAPTURE_DSO_DSO_TEXT_H
#define KRAIT_CAPTURE_DSO_DSO_TEXT_H

#include "capture/dso/dso.h"
#include "base/data/bytes.h"

/*
 * The symbol: "py::QUALNAME:FILE", or the text of a mark, without characters that perf's consumers
 * take for syntax. FILE is the short path: perf truncates symbols at the end, and would show no
 * more of the full path than where Python is installed. NULL: out of memory.
 */
char *dso_symbol(const struct dict *dict, const struct dso_function *f)
	__attribute__((warn_unused_result));

struct dwarf {
	struct bytes info, abbrev, line, aranges;
};

/*
 * The DWARF for a generation's functions that have a file, with line and column for each slot.
 * Returns 0 or -ENOMEM.
 */
int dwarf_build(struct dwarf *ret, const struct dso *d, __u32 generation, const struct dict *dict)
	__attribute__((warn_unused_result));
void dwarf_free(struct dwarf *w);

#endif /* KRAIT_CAPTURE_DSO_DSO_TEXT_H */
