/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/identify/dwarf_struct.h"

#include <dwarf.h>
#include <limits.h>
#include <string.h>

/* Levels of typedefs, qualifiers and anonymous structs to follow: real code has three. */
#define NESTING_MAX 8

/* Looks through typedefs and qualifiers to the struct or union; false for anything else. */
static bool peel(Dwarf_Die *die)
{
	for (int i = 0; i < NESTING_MAX; i++) {
		Dwarf_Attribute attr;
		Dwarf_Die type;

		switch (dwarf_tag(die)) {
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
			return !dwarf_hasattr(die, DW_AT_declaration);
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_atomic_type:
			break;
		default:
			return false;
		}
		if (!dwarf_attr_integrate(die, DW_AT_type, &attr) ||
		    !dwarf_formref_die(&attr, &type))
			return false;
		*die = type;
	}
	return false;
}

static void note(Dwarf_Die *die, struct dwarf_struct *s, size_t cnt)
{
	int tag = dwarf_tag(die);
	const char *name;

	if (tag != DW_TAG_structure_type && tag != DW_TAG_typedef)
		return;
	name = dwarf_diename(die);
	for (size_t i = 0; name && i < cnt; i++) {
		Dwarf_Die type = *die;

		if (s[i].found || (strcmp(name, s[i].names[0]) &&
				   (!s[i].names[1] || strcmp(name, s[i].names[1]))))
			continue;
		if (peel(&type) && dwarf_tag(&type) == DW_TAG_structure_type) {
			s[i].die = type;
			s[i].found = true;
		}
	}
}

static bool all_found(const struct dwarf_struct *s, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (!s[i].found)
			return false;
	return true;
}

bool dwarf_structs_find(Dwfl_Module *module, struct dwarf_struct *s, size_t cnt)
{
	Dwarf_Addr bias;
	Dwarf *dw = dwfl_module_getdwarf(module, &bias);
	Dwarf_CU *unit = NULL;
	Dwarf_Die top, die;
	bool split = false;
	uint8_t type;

	/* Partial units, too: what dwz has moved there is found there. */
	while (dw && !all_found(s, cnt) &&
	       dwarf_get_units(dw, unit, &unit, NULL, &type, &top, NULL) == 0) {
		split = split || type == DW_UT_skeleton;
		if (dwarf_child(&top, &die))
			continue;
		do
			note(&die, s, cnt);
		while (dwarf_siblingof(&die, &die) == 0);
	}
	return split;
}

static bool location(Dwarf_Die *die, long *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Word value = 0;

	/* A member of a union has no location attribute: 0. */
	if (dwarf_attr_integrate(die, DW_AT_data_member_location, &attr) &&
	    dwarf_formudata(&attr, &value))
		return false;
	*ret = (long)value;
	return value < INT_MAX;
}

static bool type_of(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, ret) &&
	       peel(ret);
}

/* Descends into anonymous members. */
static bool find_member(Dwarf_Die *parent, const char *name, size_t len, int depth, Dwarf_Die *ret,
			long *offset)
{
	Dwarf_Die die, type;

	if (depth > NESTING_MAX || dwarf_child(parent, &die))
		return false;
	do {
		const char *have = dwarf_diename(&die);
		long own, inner = 0;

		if (dwarf_tag(&die) != DW_TAG_member || !location(&die, &own))
			continue;
		if (have ? strlen(have) == len && !memcmp(have, name, len) :
			   type_of(&die, &type) &&
				    find_member(&type, name, len, depth + 1, ret, &inner)) {
			if (have)
				*ret = die;
			*offset = own + inner;
			return true;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

long dwarf_member_offset(const struct dwarf_struct *s, const char *path)
{
	Dwarf_Die parent = s->die, member;
	long total = 0, offset;

	if (!s->found)
		return -1;
	for (;;) {
		size_t len = strcspn(path, ".");

		if (!find_member(&parent, path, len, 0, &member, &offset))
			return -1;
		total += offset;
		if (!path[len])
			return total;
		path += len + 1;
		if (!type_of(&member, &parent))
			return -1;
	}
}

long dwarf_struct_size(const struct dwarf_struct *s)
{
	Dwarf_Die die = s->die;
	int size = s->found ? dwarf_bytesize(&die) : -1;

	return size;
}
