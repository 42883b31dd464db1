/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/names/dwarf_source.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "native/names/dwarf_units.h"

/* Nested blocks and inlined functions. */
#define LEVELS_MAX 128U

struct dwarf_source {
	struct dwarf_units units; /* its DWARF is NULL if there is none */
	Dwarf_Addr bias;
	char *names[SOURCE_FRAMES_MAX]; /* for the last answer */
};

struct dwarf_source *dwarf_source__new(Dwfl_Module *module)
{
	struct dwarf_source *s = calloc(1, sizeof(*s));

	if (s)
		dwarf_units_begin(&s->units, dwfl_module_getdwarf(module, &s->bias));
	return s;
}

static void free_names(struct dwarf_source *s)
{
	for (unsigned i = 0; i < SOURCE_FRAMES_MAX; i++) {
		free(s->names[i]);
		s->names[i] = NULL;
	}
}

void dwarf_source__free(struct dwarf_source *s)
{
	if (!s)
		return;
	free_names(s);
	dwarf_units_free(&s->units);
	free(s);
}

static Dwarf_Word number_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute at;
	Dwarf_Word value = 0;

	if (!dwarf_attr(die, attribute, &at) || dwarf_formudata(&at, &value))
		return 0;
	return value;
}

static int line_number(Dwarf_Word line)
{
	return line < 1U << 30 ? (int)line : 0;
}

/* Fills in where an inlined function was called: a place in the function that contains it. */
static void place_call(Dwarf_Die *unit, Dwarf_Die *inlined, struct source_frame *outer)
{
	Dwarf_Word number = number_of(inlined, DW_AT_call_file);
	Dwarf_Files *files;
	size_t cnt;

	outer->line = line_number(number_of(inlined, DW_AT_call_line));
	if (!dwarf_getsrcfiles(unit, &files, &cnt) && number < cnt)
		outer->file = dwarf_filesrc(files, number, NULL, NULL);
}

static void place_leaf(Dwarf_Die *unit, Dwarf_Addr address, struct source_frame *leaf)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	int number;

	if (!line || dwarf_lineno(line, &number) || number <= 0)
		return;
	leaf->line = line_number((Dwarf_Word)number);
	leaf->file = dwarf_linesrc(line, NULL, NULL);
}

static int has_address(void *ctx, Dwarf_Addr start, Dwarf_Addr end)
{
	const Dwarf_Addr *address = ctx;

	return *address >= start && *address < end;
}

/* Descends to the child that contains the address: a block or an inlined function. */
static bool step(Dwarf_Die *parent, Dwarf_Addr address, Dwarf_Die *ret)
{
	if (dwarf_child(parent, ret))
		return false;
	do {
		int tag = dwarf_tag(ret);

		if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) &&
		    dwarf_pieces(ret, has_address, &address))
			return true;
	} while (!dwarf_siblingof(ret, ret));
	return false;
}

/* A function's mangled name, as in the file; the caller frees it. NULL: none. */
static char *function_name(Dwarf_Die *die)
{
	static const unsigned kinds[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name };
	const char *name = NULL;
	Dwarf_Attribute at;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !name; i++) {
		if (dwarf_attr_integrate(die, kinds[i], &at))
			name = dwarf_formstring(&at);
	}
	return name ? strdup(name) : NULL;
}

unsigned dwarf_source__find(struct dwarf_source *s, Dwarf_Addr address, struct source_frame *ret,
			    bool *ret_is_split)
{
	struct dwarf_place place;
	Dwarf_Die child;
	unsigned cnt = 1;

	free_names(s);
	*ret_is_split = false;
	address -= s->bias;
	if (!s->units.dwarf || !dwarf_units_find(&s->units, address, &place))
		return 0;
	*ret_is_split = place.is_split;
	ret[0] = (struct source_frame){ 0 };
	for (unsigned i = 0;
	     place.known && i < LEVELS_MAX && step(&place.function, address, &child); i++) {
		place.function = child;
		if (dwarf_tag(&child) != DW_TAG_inlined_subroutine)
			continue;
		place_call(&place.unit, &child, &ret[cnt - 1]);
		if (cnt == SOURCE_FRAMES_MAX)
			return cnt;
		s->names[cnt] = function_name(&child);
		ret[cnt] = (struct source_frame){ .name = s->names[cnt] };
		cnt++;
	}
	place_leaf(&place.unit, address, &ret[cnt - 1]);
	return cnt;
}
