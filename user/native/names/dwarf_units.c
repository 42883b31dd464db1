/* SPDX-License-Identifier: BSD-2-Clause */
#include <linux/types.h>

#include "native/names/dwarf_units.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/compare.h"
#include "base/data/search.h"
#include "base/data/vec.h"

/* Nested namespaces and types that contain functions. */
#define DEPTH_MAX 32U
/* Ranges of one function or unit. */
#define PIECES_MAX 100000U

void dwarf_units_begin(struct dwarf_units *u, Dwarf *dwarf)
{
	*u = (struct dwarf_units){ .dwarf = dwarf };
}

void dwarf_units_free(struct dwarf_units *u)
{
	for (size_t i = 0; i < u->cnt; i++)
		free(u->units[i].functions.list);
	free(u->units);
	free(u->ranges.list);
	dwarf_units_begin(u, u->dwarf);
}

/* ---- ranges ----------------------------------------------------------------------------------- */

int dwarf_pieces(Dwarf_Die *die, dwarf_piece_fn fn, void *ctx)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	int err = 0;

	for (unsigned i = 0; i < PIECES_MAX && !err; i++) {
		at = dwarf_ranges(die, at, &base, &start, &end);
		if (at <= 0)
			break;
		err = fn(ctx, start, end);
	}
	return err;
}

static int compare(const void *a, const void *b)
{
	const struct dwarf_range *x = a, *y = b;

	return compare_numbers(x->start, y->start) ?: compare_numbers(x->depth, y->depth);
}

static void sort(struct dwarf_range_list *l)
{
	if (l->cnt)
		qsort(l->list, l->cnt, sizeof(*l->list), compare);
}

struct piece_list {
	struct dwarf_range_list *list;
	Dwarf_Off name;
	__u32 depth;
	size_t max;
};

/* The linker has discarded functions at address 0. */
static int add_piece(void *ctx, Dwarf_Addr start, Dwarf_Addr end)
{
	struct piece_list *p = ctx;
	struct dwarf_range_list *l = p->list;

	if (!start || start >= end)
		return 0;
	if (l->cnt >= p->max || vec_reserve(l->list, l->cap, l->cnt + 1))
		return -ENOMEM;
	l->list[l->cnt++] = (struct dwarf_range){ start, end, p->name, p->depth };
	return 0;
}

/*
 * The last range that begins at or before the address and contains it: the innermost one. NULL:
 * none.
 */
static const struct dwarf_range *find(const struct dwarf_range_list *l, Dwarf_Addr address)
{
	const size_t low = sorted_below(l->cnt, i, l->list[i].start <= address);

	/* Ranges of a unit hardly ever overlap: a few steps back find an enclosing one. */
	for (unsigned i = 0; i < DEPTH_MAX && low > i; i++) {
		if (l->list[low - 1 - i].end > address)
			return &l->list[low - 1 - i];
	}
	return NULL;
}

/* ---- units ------------------------------------------------------------------------------------ */

static int add_unit(struct dwarf_units *u, Dwarf_Die *die, uint8_t type)
{
	struct piece_list pieces = { &u->ranges, u->cnt, 0, DWARF_RANGES_MAX };

	if (vec_reserve(u->units, u->cap, u->cnt + 1))
		return -ENOMEM;
	u->units[u->cnt++] = (struct dwarf_unit){ .die = dwarf_dieoffset(die),
						  .is_split = type == DW_UT_skeleton };
	return dwarf_pieces(die, add_piece, &pieces);
}

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
		if (has_lines(&die, type) && add_unit(u, &die, type))
			break;
	}
	sort(&u->ranges);
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
	struct piece_list pieces = { &unit->functions, 0, depth,
				     DWARF_FUNCTIONS_MAX - u->function_cnt };
	Dwarf_Die die;
	int err = 0;

	if (depth == DEPTH_MAX || dwarf_child(parent, &die))
		return 0;
	do {
		int tag = dwarf_tag(&die);

		pieces.name = dwarf_dieoffset(&die);
		if (tag == DW_TAG_subprogram)
			err = dwarf_pieces(&die, add_piece, &pieces);
		if (!err && has_functions(tag) && dwarf_haschildren(&die) > 0)
			err = read_functions(u, unit, &die, depth + 1);
	} while (!err && !dwarf_siblingof(&die, &die));
	return err;
}

static void forget_functions(struct dwarf_units *u, struct dwarf_unit *unit)
{
	u->function_cnt -= unit->functions.cnt;
	free(unit->functions.list);
	unit->functions = (struct dwarf_range_list){ 0 };
	unit->read = false;
}

static void forget_all_functions(struct dwarf_units *u)
{
	for (size_t i = 0; i < u->cnt; i++)
		forget_functions(u, &u->units[i]);
}

static void read_unit(struct dwarf_units *u, struct dwarf_unit *unit, Dwarf_Die *die)
{
	if (u->function_cnt > DWARF_FUNCTIONS_MAX / 2)
		forget_all_functions(u);
	unit->read = true;
	if (read_functions(u, unit, die, 0))
		unit->functions.cnt = 0;
	u->function_cnt += unit->functions.cnt;
	sort(&unit->functions);
}

bool dwarf_units_find(struct dwarf_units *u, Dwarf_Addr address, struct dwarf_place *ret)
{
	const struct dwarf_range *r;
	struct dwarf_unit *unit;

	*ret = (struct dwarf_place){ 0 };
	if (!u->made)
		read_units(u);
	r = find(&u->ranges, address);
	if (!r || !dwarf_offdie(u->dwarf, u->units[r->die].die, &ret->unit))
		return false;
	unit = &u->units[r->die];
	ret->is_split = unit->is_split;
	if (!unit->read)
		read_unit(u, unit, &ret->unit);
	r = find(&unit->functions, address);
	ret->known = r && dwarf_offdie(u->dwarf, r->die, &ret->function);
	return true;
}
