/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/symbol_ranges.h"

#include <stdlib.h>
#include <string.h>

/* 40 bytes each in up to three parts; a library with more symbols is not asked at all. */
#define SYMBOLS_MAX 1000000
/* Boundaries of sections; libraries have 30 sections. */
#define SECTIONS_MAX 1024

static int compare(const void *a, const void *b)
{
	const struct symbol_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static size_t add_symbol(struct symbol_range *list, Dwfl_Module *module, int index)
{
	GElf_Addr start;
	GElf_Sym symbol;

	if (!dwfl_module_getsym_info(module, index, &symbol, &start, NULL, NULL, NULL))
		return 0;
	list[0].start = start;
	list[1].start = start + (symbol.st_size ? symbol.st_size : 1);
	list[2].start = start + SYMBOL_SIZELESS;
	return symbol.st_size ? 2 : 3;
}

/* A symbol without a size ends where its section does. At most max boundaries. */
static size_t add_sections(struct symbol_range *list, Dwfl_Module *module, size_t max)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(module, &bias);
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t cnt = 0;

	while (elf && cnt + 2 <= max && (section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_ALLOC))
			continue;
		list[cnt++].start = header.sh_addr + bias;
		list[cnt++].start = header.sh_addr + header.sh_size + bias;
	}
	return cnt;
}

/* Sorted, each boundary once; the first is at 0, so that every address is in a part. */
static void make(struct symbol_ranges *p, Dwfl_Module *module)
{
	int symbols = dwfl_module_getsymtab(module);
	struct symbol_range *list;
	size_t cnt = 1, kept = 0;

	p->made = true;
	if (symbols < 0 || symbols > SYMBOLS_MAX)
		return;
	list = calloc(3 * (size_t)symbols + SECTIONS_MAX + 1, sizeof(*list));
	if (!list)
		return;
	cnt += add_sections(&list[cnt], module, SECTIONS_MAX);
	for (int i = 0; i < symbols; i++)
		cnt += add_symbol(&list[cnt], module, i);
	qsort(list, cnt, sizeof(*list), compare);
	for (size_t i = 1; i < cnt; i++) {
		if (list[i].start != list[kept].start)
			list[++kept].start = list[i].start;
	}
	p->cnt = kept + 1;
	p->list = reallocarray(list, p->cnt, sizeof(*list));
	if (!p->list)
		p->list = list;
}

struct symbol_range *symbol_ranges_find(struct symbol_ranges *p, Dwfl_Module *module,
					GElf_Addr address, GElf_Addr *ret_end)
{
	size_t low = 0, high;

	if (!p->made)
		make(p, module);
	for (high = p->cnt; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (p->list[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_end = low < p->cnt ? p->list[low].start : ~0ULL;
	return low ? &p->list[low - 1] : NULL;
}

void symbol_ranges_free(struct symbol_ranges *p)
{
	free(p->list);
	*p = (struct symbol_ranges){ 0 };
}
