/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_split.h - the part of one compilation unit that split DWARF keeps in a .dwo file or a
 * package.
 *
 * The program's own file keeps a skeleton of the unit: its id, its lines, and the addresses. The
 * functions are in the other file, with numbers that stand for addresses and texts. libdw walks the
 * functions, in a copy of just this unit; this module resolves the numbers.
 *
 * Must hold: both files are untrusted, so this runs in a parser only; a unit is used only if its id
 * is the skeleton's.
 */
#ifndef KRAIT_SYMBOL_DWARF_SPLIT_H
#define KRAIT_SYMBOL_DWARF_SPLIT_H

#include <elfutils/libdw.h>
#include <linux/types.h>

#include "symbol/dwo_file.h"

/* For the functions of a unit and their abbreviations; the largest known units have 60 MB. */
#define DWARF_SPLIT_BYTES_MAX (96U << 20)

struct dwarf_split;

/*
 * The skeleton's other half; for its id see dwarf_skeleton_id(). file: borrowed, as are the
 * skeleton's unit and its file. Returns 0; -ESTALE: the file has no unit with that id; -E2BIG;
 * -EBADMSG; -errno.
 */
int dwarf_split__new(struct dwarf_split **ret, const struct dwo_file *file, Dwarf_Die *skeleton,
		     __u64 id) __attribute__((warn_unused_result, nonnull));
void dwarf_split__free(struct dwarf_split *s);
/* The unit itself, in its own Dwarf object. */
Dwarf_Die *dwarf_split__unit(struct dwarf_split *s) __attribute__((nonnull));
size_t dwarf_split__bytes(const struct dwarf_split *s) __attribute__((nonnull));

/* Gets each address range of a DIE; returns 0 to go on. */
typedef int (*dwarf_piece_fn)(void *ctx, Dwarf_Addr start, Dwarf_Addr end);
/*
 * Calls fn for all ranges of a DIE of that unit, or of any unit if split is NULL. Returns 0, or the
 * result of fn.
 */
int dwarf_pieces(const struct dwarf_split *split, Dwarf_Die *die, dwarf_piece_fn fn, void *ctx)
	__attribute__((nonnull(2, 3)));

/* A function's mangled name, as in the file; the caller frees it. NULL: none. */
char *dwarf_function_name(const struct dwarf_split *split, Dwarf_Die *die)
	__attribute__((warn_unused_result, nonnull(2)));

#endif /* KRAIT_SYMBOL_DWARF_SPLIT_H */
