/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_struct.h - structs by name in the debug information of one file, and where their members are.
 *
 * A struct may be known by its tag or by a typedef of it only. It is described in many compilation
 * units, in most of them as a mere declaration: the first description that is whole counts.
 */
#ifndef KRAIT_TARGET_DWARF_STRUCT_H
#define KRAIT_TARGET_DWARF_STRUCT_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>

/* What to look for, and where it is. */
struct dwarf_struct {
	const char *names[2]; /* tag or typedef; the second may be NULL */
	bool found;
	Dwarf_Die die;
};

/*
 * Finds those of s[0..cnt) that are there, in one pass over all units. True: some of them say nothing but that what they
 * are of is in another file (split DWARF).
 */
bool dwarf_structs_find(Dwfl_Module *module, struct dwarf_struct *s, size_t cnt)
	__attribute__((nonnull));

/* Byte position of a member: "interpreters.head" is one of a member. -1 if there is none. */
long dwarf_member_offset(const struct dwarf_struct *s, const char *path) __attribute__((nonnull));
/* sizeof; -1 unknown. */
long dwarf_struct_size(const struct dwarf_struct *s) __attribute__((nonnull));

#endif /* KRAIT_TARGET_DWARF_STRUCT_H */
