/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_halves.h - the open split halves of a file's compilation units (dwarf_split.h), each from
 * its own .dwo file or from the file's package.
 *
 * Must hold: nothing is opened here. What else must be read is requested (struct dwarf_wanted), and
 * arrives as a descriptor. Memory and descriptors are bounded: the least recently used half makes
 * room, and is requested again if needed.
 */
#ifndef KRAIT_SYMBOL_DWARF_HALVES_H
#define KRAIT_SYMBOL_DWARF_HALVES_H

#include <elfutils/libdw.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "symbol/dwarf_split.h"

/* Open at once, per file. */
#define DWARF_HALVES_MAX 8

enum dwarf_want { DWARF_WANT_NOTHING, DWARF_WANT_PACKAGE, DWARF_WANT_HALF, DWARF_WANT_CNT };

/* What must be supplied before there is an answer. The texts belong to the file. */
struct dwarf_wanted {
	enum dwarf_want what;
	__u64 id; /* of the unit */
	const char *folder, *name; /* where its file was made; folder may be NULL */
};

struct dwarf_half {
	size_t unit; /* number */
	struct dwarf_split *split; /* NULL: free */
	struct dwo_file file; /* its own file; .fd -1: it is in the package */
	__u64 used;
};

struct dwarf_halves {
	struct dwarf_half list[DWARF_HALVES_MAX];
	__u64 now; /* number of uses so far */
	struct dwo_file package; /* .fd -1: none */
	bool package_said; /* whether there is one is known */
};

void dwarf_halves_begin(struct dwarf_halves *h) __attribute__((nonnull));
void dwarf_halves_free(struct dwarf_halves *h) __attribute__((nonnull));

/*
 * The caller keeps the descriptor; -1: there is none. Returns 0, -EEXIST: already known, or as
 * dwo_file_open().
 */
int dwarf_halves_add_package(struct dwarf_halves *h, int fd)
	__attribute__((warn_unused_result, nonnull));
/*
 * Adds that unit's half from this file; the caller keeps the descriptor. Returns as dwo_file_open()
 * and dwarf_split__new().
 */
int dwarf_halves_add(struct dwarf_halves *h, size_t unit, Dwarf_Die *skeleton, __u64 id, int fd)
	__attribute__((warn_unused_result, nonnull));

/*
 * NULL: *ret says what is wanted; nothing if the skeleton names no file. A half in the package is
 * available at once. Valid until the next call.
 */
struct dwarf_split *dwarf_halves_get(struct dwarf_halves *h, size_t unit, Dwarf_Die *skeleton,
				     __u64 id, struct dwarf_wanted *ret)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_SYMBOL_DWARF_HALVES_H */
