/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_struct.h - finds structs by name in the debug information of one file, and the offsets of
 * their members.
 *
 * A struct may be known only by its tag, or only by a typedef. Many compilation units describe it,
 * most of them by a mere declaration: the first complete description counts.
 */
#ifndef KRAIT_PROCESS_IDENTIFY_DWARF_STRUCT_H
#define KRAIT_PROCESS_IDENTIFY_DWARF_STRUCT_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>

/* What to look for, and where it was found. */
struct dwarf_struct {
	const char *names[2]; /* tag or typedef; the second may be NULL */
	bool found;
	Dwarf_Die die;
};

/*
 * Finds as many of s[0..cnt) as exist, in one pass over all units. True: some units only say that
 * their content is in another file (split DWARF).
 */
bool dwarf_structs_find(Dwfl_Module *module, struct dwarf_struct *s, size_t cnt)
	__attribute__((nonnull));

/* Byte offset of a member; "interpreters.head" is a member of a member. -1: there is none. */
long dwarf_member_offset(const struct dwarf_struct *s, const char *path) __attribute__((nonnull));
/* sizeof; -1 unknown. */
long dwarf_struct_size(const struct dwarf_struct *s) __attribute__((nonnull));

#endif /* KRAIT_PROCESS_IDENTIFY_DWARF_STRUCT_H */
