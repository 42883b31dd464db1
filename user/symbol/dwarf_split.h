/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_split.h - what split DWARF has of one compilation unit in a .dwo file or a package.
 *
 * The program's own file keeps a skeleton of the unit: its id, its lines, and the addresses; the functions are in the
 * other file, with numbers of addresses and texts in place of these. libdw goes through the functions, of a copy of
 * just this unit; what such numbers stand for is looked up here.
 *
 * Must hold: both files are anybody's, so this runs in a parser only; a unit whose id is not the skeleton's is none.
 */
#ifndef KRAIT_SYMBOL_DWARF_SPLIT_H
#define KRAIT_SYMBOL_DWARF_SPLIT_H

#include <elfutils/libdw.h>
#include <linux/types.h>

#include "symbol/dwo_file.h"

/* Of the functions of a unit, and what says how they are written; the largest units known have 60 MB. */
#define DWARF_SPLIT_BYTES_MAX (96U << 20)

struct dwarf_split;

/*
 * The skeleton's other half; its id, see dwarf_skeleton_id(). file: borrowed, and so are the skeleton's unit and its
 * file. 0; -ESTALE: the file has no unit of that id; -E2BIG; -EBADMSG; -errno.
 */
int dwarf_split__new(struct dwarf_split **ret, const struct dwo_file *file, Dwarf_Die *skeleton,
		     __u64 id) __attribute__((warn_unused_result, nonnull));
void dwarf_split__free(struct dwarf_split *s);
/* The unit itself, in a DWARF of its own. */
Dwarf_Die *dwarf_split__unit(struct dwarf_split *s) __attribute__((nonnull));
size_t dwarf_split__bytes(const struct dwarf_split *s) __attribute__((nonnull));

/* Gets each piece of what a DIE is of; 0 to go on. */
typedef int (*dwarf_piece_fn)(void *ctx, Dwarf_Addr start, Dwarf_Addr end);
/* All pieces of a DIE of that unit, or of any where split is NULL. 0, or what the function has returned. */
int dwarf_pieces(const struct dwarf_split *split, Dwarf_Die *die, dwarf_piece_fn fn, void *ctx)
	__attribute__((nonnull(2, 3)));

/* A function's name as it is in the file, mangled; the caller's to free. NULL: none. */
char *dwarf_function_name(const struct dwarf_split *split, Dwarf_Die *die)
	__attribute__((warn_unused_result, nonnull(2)));

#endif /* KRAIT_SYMBOL_DWARF_SPLIT_H */
