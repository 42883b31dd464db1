/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/dwarf_source.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>

#include "symbol/dwarf_units.h"

/* Blocks and inlined functions in each other. */
#define LEVELS_MAX 128U

struct dwarf_source {
	struct dwarf_units units; /* its DWARF is NULL where there is none */
	Dwarf_Addr bias;
};

struct dwarf_source *dwarf_source__new(Dwfl_Module *module)
{
	struct dwarf_source *s = calloc(1, sizeof(*s));

	if (s)
		s->units.dwarf = dwfl_module_getdwarf(module, &s->bias);
	return s;
}

void dwarf_source__free(struct dwarf_source *s)
{
	if (!s)
		return;
	dwarf_units_free(&s->units);
	free(s);
}

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute at;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &at) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &at))
		name = dwarf_formstring(&at);
	return name ? name : dwarf_diename(die);
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

/* Where an inlined function was called, which is in what it is inlined in. */
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

/* The child that has the address, a block or an inlined function. */
static bool step(Dwarf_Die *parent, Dwarf_Addr address, Dwarf_Die *ret)
{
	if (dwarf_child(parent, ret))
		return false;
	do {
		int tag = dwarf_tag(ret);

		if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) &&
		    dwarf_haspc(ret, address) > 0)
			return true;
	} while (!dwarf_siblingof(ret, ret));
	return false;
}

unsigned dwarf_source__find(struct dwarf_source *s, Dwarf_Addr address, struct source_frame *ret)
{
	Dwarf_Die unit, die, child;
	unsigned cnt = 1;
	bool known;

	address -= s->bias;
	if (!s->units.dwarf || !dwarf_units_find(&s->units, address, &unit, &die, &known))
		return 0;
	ret[0] = (struct source_frame){ 0 };
	for (unsigned i = 0; known && i < LEVELS_MAX && step(&die, address, &child); i++) {
		die = child;
		if (dwarf_tag(&die) != DW_TAG_inlined_subroutine)
			continue;
		place_call(&unit, &die, &ret[cnt - 1]);
		if (cnt == SOURCE_FRAMES_MAX)
			return cnt;
		ret[cnt++] = (struct source_frame){ .name = name_of(&die) };
	}
	place_leaf(&unit, address, &ret[cnt - 1]);
	return cnt;
}
