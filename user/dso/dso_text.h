/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dso_text.h - what the functions of the DSO are called, and their DWARF.
 *
 * Must hold: all texts are printable (util/printable.h): tools pass them on line by line.
 */
#ifndef KRAIT_DSO_DSO_TEXT_H
#define KRAIT_DSO_DSO_TEXT_H

#include "dso/dso.h"
#include "util/bytes.h"

/*
 * The symbol: "py::QUALNAME:FILE", or the text of a mark; without the characters that perf's
 * consumers take for syntax. FILE is the short path: perf cuts symbols at the end, and of a whole one
 * would show no more than where Python is installed. NULL when out of memory.
 */
char *dso_symbol(const struct dict *dict, const struct dso_function *f)
	__attribute__((warn_unused_result));

struct dwarf {
	struct bytes info, abbrev, line, aranges;
};

/* Functions of a generation with a file, and for each slot line and column; 0 or -ENOMEM. */
int dwarf_build(struct dwarf *ret, const struct dso *d, __u32 generation, const struct dict *dict)
	__attribute__((warn_unused_result));
void dwarf_free(struct dwarf *w);

#endif /* KRAIT_DSO_DSO_TEXT_H */
