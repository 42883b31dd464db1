/* SPDX-License-Identifier: BSD-2-Clause */
#include <linux/types.h>

#include "symbol/dwarf_units.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/search.h"
#include "util/vec.h"

/* Namespaces and types in each other, with functions in them. */
#define DEPTH_MAX 32U
/* Pieces of one function or unit. */
#define PIECES_MAX 100000U

void dwarf_units_free(struct dwarf_units *u)
{
	for (size_t i = 0; i < u->cnt; i++)
		free(u->units[i].functions.list);
	free(u->units);
	free(u->ranges.list);
	*u = (struct dwarf_units){ .dwarf = u->dwarf };
}

/* ---- ranges ----------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct dwarf_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->depth > y->depth) - (x->depth < y->depth);
}

/* All pieces of what the DIE is of; one at address 0 was thrown away by the linker. */
static int add_pieces(struct dwarf_range_list *l, Dwarf_Die *die, Dwarf_Off name, __u32 depth,
		      size_t max)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	for (unsigned i = 0; i < PIECES_MAX; i++) {
		at = dwarf_ranges(die, at, &base, &start, &end);
		if (at <= 0)
			return 0;
		if (!start || start >= end)
			continue;
		if (l->cnt >= max || vec_reserve(l->list, l->cap, l->cnt + 1))
			return -ENOMEM;
		l->list[l->cnt++] = (struct dwarf_range){ start, end, name, depth };
	}
	return 0;
}

/* The last that begins at or before the address and has it: the innermost one. NULL none. */
static const struct dwarf_range *find(const struct dwarf_range_list *l, Dwarf_Addr address)
{
	const size_t low = sorted_below(l->cnt, i, l->list[i].start <= address);

	/* Those of a unit hardly ever overlap: a few steps back find what lies around another one. */
	for (unsigned i = 0; i < DEPTH_MAX && low > i; i++) {
		if (l->list[low - 1 - i].end > address)
			return &l->list[low - 1 - i];
	}
	return NULL;
}

/* ---- units ------------------------------------------------------------------------------------ */

static int add_unit(struct dwarf_units *u, Dwarf_Die *die)
{
	if (vec_reserve(u->units, u->cap, u->cnt + 1))
		return -ENOMEM;
	u->units[u->cnt] = (struct dwarf_unit){ .die = dwarf_dieoffset(die) };
	return add_pieces(&u->ranges, die, u->cnt++, 0, DWARF_RANGES_MAX);
}

/* Split DWARF leaves addresses and source lines in the file, and functions in .dwo files, which nobody reads. */
static bool has_lines(Dwarf_Die *die, uint8_t type)
{
	int tag = dwarf_tag(die);

	return (type == DW_UT_compile && tag == DW_TAG_compile_unit) ||
	       (type == DW_UT_skeleton &&
		(tag == DW_TAG_skeleton_unit || tag == DW_TAG_compile_unit));
}

static void read_units(struct dwarf_units *u)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Half version;
	Dwarf_Die die;
	uint8_t type;

	u->made = true;
	while (!dwarf_get_units(u->dwarf, unit, &unit, &version, &type, &die, NULL)) {
		if (has_lines(&die, type) && add_unit(u, &die))
			break;
	}
	qsort(u->ranges.list, u->ranges.cnt, sizeof(*u->ranges.list), compare);
}

/* ---- functions -------------------------------------------------------------------------------- */

static bool has_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_enumeration_type || tag == DW_TAG_subprogram;
}

static int read_functions(struct dwarf_units *u, struct dwarf_unit *unit, Dwarf_Die *parent,
			  __u32 depth)
{
	size_t room = DWARF_FUNCTIONS_MAX - u->function_cnt;
	Dwarf_Die die;
	int err = 0;

	if (depth == DEPTH_MAX || dwarf_child(parent, &die))
		return 0;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			err = add_pieces(&unit->functions, &die, dwarf_dieoffset(&die), depth,
					 room);
		if (!err && has_functions(tag) && dwarf_haschildren(&die) > 0)
			err = read_functions(u, unit, &die, depth + 1);
	} while (!err && !dwarf_siblingof(&die, &die));
	return err;
}

static void forget_functions(struct dwarf_units *u)
{
	for (size_t i = 0; i < u->cnt; i++) {
		free(u->units[i].functions.list);
		u->units[i].functions = (struct dwarf_range_list){ 0 };
		u->units[i].read = false;
	}
	u->function_cnt = 0;
}

static void read_unit(struct dwarf_units *u, struct dwarf_unit *unit, Dwarf_Die *die)
{
	if (u->function_cnt > DWARF_FUNCTIONS_MAX / 2)
		forget_functions(u);
	unit->read = true;
	if (read_functions(u, unit, die, 0))
		unit->functions.cnt = 0;
	u->function_cnt += unit->functions.cnt;
	qsort(unit->functions.list, unit->functions.cnt, sizeof(*unit->functions.list), compare);
}

bool dwarf_units_find(struct dwarf_units *u, Dwarf_Addr address, Dwarf_Die *ret_unit,
		      Dwarf_Die *ret_function, bool *ret_known)
{
	const struct dwarf_range *r;
	struct dwarf_unit *unit;

	if (!u->made)
		read_units(u);
	r = find(&u->ranges, address);
	if (!r || !dwarf_offdie(u->dwarf, u->units[r->die].die, ret_unit))
		return false;
	unit = &u->units[r->die];
	if (!unit->read)
		read_unit(u, unit, ret_unit);
	r = find(&unit->functions, address);
	*ret_known = r && dwarf_offdie(u->dwarf, r->die, ret_function);
	return true;
}
