/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_halves.h - the other halves of a file's compilation units that are open (dwarf_split.h), each from a .dwo file of
 * its own or from the file's package.
 *
 * Must hold: nothing is opened here. What else there is to read is asked for (struct dwarf_wanted), and comes as a
 * descriptor. Memory and descriptors are bounded: a half that was used longest ago makes room, and is asked for again.
 */
#ifndef KRAIT_SYMBOL_DWARF_HALVES_H
#define KRAIT_SYMBOL_DWARF_HALVES_H

#include <elfutils/libdw.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "symbol/dwarf_split.h"

/* Open at once, of one file. */
#define DWARF_HALVES_MAX 8

enum dwarf_want { DWARF_WANT_NOTHING, DWARF_WANT_PACKAGE, DWARF_WANT_HALF, DWARF_WANT_CNT };

/* What has to be given before there is an answer. Texts: the file's. */
struct dwarf_wanted {
	enum dwarf_want what;
	__u64 id; /* of the unit */
	const char *folder, *name; /* where its file was made; the folder may be NULL */
};

struct dwarf_half {
	size_t unit; /* number */
	struct dwarf_split *split; /* NULL: a free place */
	struct dwo_file file; /* of its own; .fd -1: it is in the package */
	__u64 used;
};

struct dwarf_halves {
	struct dwarf_half list[DWARF_HALVES_MAX];
	__u64 now; /* uses so far */
	struct dwo_file package; /* .fd -1: there is none */
	bool package_said; /* whether there is one */
};

void dwarf_halves_begin(struct dwarf_halves *h) __attribute__((nonnull));
void dwarf_halves_free(struct dwarf_halves *h) __attribute__((nonnull));

/* The descriptor stays the caller's; -1: there is none. 0, -EEXIST: that was said before, or as dwo_file_open(). */
int dwarf_halves_add_package(struct dwarf_halves *h, int fd)
	__attribute__((warn_unused_result, nonnull));
/* The half of that unit is in that file; the descriptor stays the caller's. As dwo_file_open(), dwarf_split__new(). */
int dwarf_halves_add(struct dwarf_halves *h, size_t unit, Dwarf_Die *skeleton, __u64 id, int fd)
	__attribute__((warn_unused_result, nonnull));

/*
 * NULL: *ret says what is wanted, nothing where the skeleton names no file. What is in the package is there at once.
 * Valid until the next call.
 */
struct dwarf_split *dwarf_halves_get(struct dwarf_halves *h, size_t unit, Dwarf_Die *skeleton,
				     __u64 id, struct dwarf_wanted *ret)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_SYMBOL_DWARF_HALVES_H */
