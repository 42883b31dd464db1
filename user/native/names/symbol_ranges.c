/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/names/symbol_ranges.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>

#include "base/data/compare.h"
#include "base/data/search.h"
#include "base/text/short_path.h"

/* ---- python code ------------------------------------------------------------------------------ */

/*
 * Which functions of a file are CPython's own, if other code is in it as well.
 *
 * Functions that other files can see have CPython's prefix, Py or _Py: its build makes sure of that
 * (Tools/build/smelly.py). A function that only its own file can see may have any name. It is
 * CPython's if the symbol table says that its source has the name of one of CPython's (ceval.c),
 * and if the nearest function before or behind it that others can see is CPython's, since a linker
 * keeps the functions of a source together. Of a stripped program only the former are known.
 * PyInit_*() may be anybody's: it is never counted as CPython's, and no evidence about others.
 */

/* A function that other files can see, or could before linking. */
struct python_anchor {
	__u64 start;
	bool python;
};

/*
 * Sources of libpython3.8 to 3.15 (LIBRARY_OBJS in Makefile.pre.in, and modules that distributions
 * build in), without main.c: an application's has that name, too.
 */
static const char sources[] =
	" "
	"_abc _asynciomodule _bisectmodule _bz2module _codecs_cn _codecs_hk _codecs_iso2022 "
	"_codecs_jp _codecs_kr _codecs_tw _codecsmodule _collectionsmodule "
	"_contextvarsmodule _csv _datetimemodule _decimal _elementtree _functoolsmodule "
	"_hashopenssl _heapqmodule _hmacmodule _interpchannelsmodule _interpqueuesmodule "
	"_interpretersmodule _iomodule _json _localemodule _lsprof _lzmamodule _opcode "
	"_operator _peg_parser _pickle _posixsubprocess _queuemodule _randommodule "
	"_remote_debugging_module _sre _ssl _stat _statisticsmodule _struct _suggestions "
	"_threadmodule _tracemalloc _typesmodule _typingmodule _uuidmodule _warnings "
	"_weakref _xxinterpchannelsmodule _xxsubinterpretersmodule _zoneinfo abstract accu "
	"action_helpers arraymodule asdl asm_trampoline assemble ast ast_opt ast_unparse "
	"atexitmodule audioop binascii blake2b_impl blake2module blake2s_impl bltinmodule "
	"boolobject bootstrap_hash brc buffer bufferedio bytearrayobject bytes_methods "
	"bytesio bytesobject call capsule cellobject ceval ceval_gil classobject cmathmodule "
	"codecs codegen codeobject compile complexobject context critical_section "
	"crossinterp deepfreeze descrobject dictobject dtoa dynload_shlib enumobject "
	"errnomodule errors exceptions faulthandler fcntlmodule file_tokenizer fileio "
	"fileobject fileutils floatobject flowgraph formatter_unicode frame frameobject "
	"frozen frozenmain funcobject future gc gc_free_threading gc_gil gcmodule "
	"genericaliasobject genobject getargs getbuildinfo getcompiler getcopyright getopt "
	"getpath getplatform getversion graminit grammar1 grpmodule Hacl_Hash_Blake2b "
	"Hacl_Hash_Blake2s Hacl_Hash_MD5 Hacl_Hash_SHA1 Hacl_Hash_SHA2 Hacl_Hash_SHA3 "
	"Hacl_HMAC hamt hashtable helpers hmacmodule import importdl index_pool initconfig "
	"instruction_sequence instrumentation interpconfig interpolationobject "
	"interpreteridobject intrinsics iobase iterobject itertoolsmodule jit "
	"lazyimportobject legacy_tracing lexer listnode listobject lock longobject marshal "
	"mathmodule md5module memoryobject methodobject mmapmodule modsupport moduleobject "
	"multibytecodec myreadline mysnprintf mystrtoul namespaceobject node object "
	"object_stack obmalloc odictobject optimizer optimizer_analysis optimizer_symbols "
	"parking_lot parse parse_string parser parsetok pathconfig peephole peg_api pegen "
	"pegen_errors perf_jit_trampoline perf_trampoline picklebufobject posixmodule "
	"preconfig pwdmodule pyarena pyctype pydtrace pyexpat pyfpe pyhash pylifecycle "
	"pymath pystate pystrcmp pystrhex pystrtod Python-ast Python-tokenize pythonrun "
	"pytime qsbr rangeobject readline_tokenizer remote_debug remote_debugging resource "
	"selectmodule sentinelobject setobject sha1module sha256module sha2module sha3module "
	"sha512module signalmodule sliceobject slots socketmodule specialize spwdmodule sre "
	"stackrefs state string_parser string_tokenizer stringio structmember structseq "
	"suggestions symtable symtablemodule syslogmodule sysmodule templateobject termios "
	"textio thread thread_pthread timemodule token tokenizer traceback tracemalloc "
	"tupleobject typeobject typevarobject unicodectype unicodedata unicodeobject "
	"unionobject uniqueid utf8_tokenizer weakrefobject zlibmodule ";

/* As in the symbol table, not demangled: PyInit_*()? */
static bool python_code_is_init(const char *name)
{
	return starts_with(name, "PyInit_");
}

/* CPython's prefix, and not that? */
static bool python_code_is_name(const char *name)
{
	return starts_with(name + (*name == '_'), "Py") && !python_code_is_init(name);
}

/* Debian's archive has "ceval.o" where others have "ceval.c". */
static bool python_code_is_source(const char *name)
{
	const char *base = base_name(name), *dot = strrchr(base, '.'), *at;
	size_t len = dot ? (size_t)(dot - base) : 0;

	if (!len || strlen(dot) != 2 || !strchr("co", dot[1]))
		return false;
	for (at = memmem(sources, sizeof(sources), base, len); at;
	     at = memmem(at + 1, sizeof(sources) - (size_t)(at + 1 - sources), base, len))
		if (at > sources && at[-1] == ' ' && at[len] == ' ')
			return true;
	return false;
}

static int compare_anchors(const void *a, const void *b)
{
	const struct python_anchor *x = a, *y = b;

	return compare_numbers(x->start, y->start);
}

static void python_code_sort(struct python_anchor *anchors, size_t cnt)
{
	qsort(anchors, cnt, sizeof(*anchors), compare_anchors);
}

/* Is one of the two nearest functions CPython's? */
static bool python_code_is_near(const struct python_anchor *anchors, size_t cnt, __u64 start)
{
	size_t behind = sorted_below(cnt, i, anchors[i].start <= start);

	return (behind && anchors[behind - 1].python) || (behind < cnt && anchors[behind].python);
}

/* ---- symbol ranges ---------------------------------------------------------------------------- */

/*
 * 32 bytes each in up to two ranges, plus 32 temporarily; a library with more symbols gets no names
 * here.
 */
#define SYMBOLS_MAX 1000000
/* Boundaries of sections; libraries have 30 sections. */
#define SECTIONS_MAX 1024

/* For a symbol that other files cannot see. */
#define RANK_LOCAL 1U

/* A symbol that may name code. Higher ranks win. */
struct candidate {
	GElf_Addr start, end; /* equal: it has no size */
	const char *name;
	__u32 rank;
	bool is_function;
	bool is_python; /* by its name; of a local one, by its source */
	int number; /* position in the table: of two equal ones the first wins */
};

/* Data needed while the ranges are built. */
struct builder {
	Dwfl_Module *module;
	struct symbol_range *list; /* sorted by start, unique; the first is at 0 */
	size_t cnt;
	struct candidate *symbols;
	size_t symbol_cnt;
	const char *source; /* of the local symbols that follow; "": of several */
	struct python_anchor *anchors;
	size_t anchor_cnt;
	struct {
		GElf_Addr start, end;
	} sections[SECTIONS_MAX / 2];
	size_t section_cnt;
	/*
	 * for each range: itself while it has no name, else a later one that is nearer to one
	 * without
	 */
	__u32 *next;
};

static int compare_ranges(const void *a, const void *b)
{
	const struct symbol_range *x = a, *y = b;

	return compare_numbers(x->start, y->start);
}

/* Winners sort first. */
static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	bool sized_x = x->end > x->start, sized_y = y->end > y->start;
	bool local_x = x->rank == RANK_LOCAL, local_y = y->rank == RANK_LOCAL;

	if (sized_x != sized_y)
		return sized_x ? -1 : 1;
	if (local_x != local_y)
		return local_x ? 1 : -1;
	if (x->start != y->start)
		return x->start > y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? 1 : -1;
	return compare_numbers(x->number, y->number);
}

static __u32 rank_of(const GElf_Sym *symbol)
{
	switch (GELF_ST_BIND(symbol->st_info)) {
	case STB_GLOBAL:
		return 3;
	case STB_WEAK:
		return 2;
	default:
		return RANK_LOCAL;
	}
}

/* As libdwfl's search_table(). A symbol in a section that is not loaded has no address. */
static bool is_candidate(const char *name, const GElf_Sym *symbol, GElf_Word section)
{
	int type = GELF_ST_TYPE(symbol->st_info);

	return name && *name && symbol->st_shndx != SHN_UNDEF && section != (GElf_Word)-1 &&
	       type != STT_SECTION && type != STT_FILE && type != STT_TLS;
}

/*
 * A linker puts symbols that become local only now (hidden visibility) behind a source without a
 * name.
 */
static bool is_anchor(const struct builder *b, const struct candidate *c)
{
	return c->rank != RANK_LOCAL || !*b->source;
}

static void find_out_whose(struct builder *b, struct candidate *c, const GElf_Sym *symbol)
{
	int type = GELF_ST_TYPE(symbol->st_info);

	c->is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
	if (!c->is_function || python_code_is_init(c->name))
		return;
	c->is_python = python_code_is_name(c->name);
	if (is_anchor(b, c))
		b->anchors[b->anchor_cnt++] = (struct python_anchor){ c->start, c->is_python };
	else if (!c->is_python)
		c->is_python = python_code_is_source(b->source);
}

/* What only looks like CPython's by its source must lie among its functions. */
static void settle_whose(struct builder *b)
{
	python_code_sort(b->anchors, b->anchor_cnt);
	for (size_t i = 0; i < b->symbol_cnt; i++) {
		struct candidate *c = &b->symbols[i];

		if (c->is_python && !python_code_is_name(c->name))
			c->is_python = python_code_is_near(b->anchors, b->anchor_cnt, c->start);
	}
}

static void add_boundary(struct builder *b, GElf_Addr start, bool is_edge)
{
	b->list[b->cnt++] = (struct symbol_range){ .start = start, .is_edge = is_edge };
}

/*
 * The linker's own symbols (__ehdr_start) may name a section that does not contain them: they are
 * not code.
 */
static bool is_in_its_section(const struct builder *b, GElf_Word number, GElf_Addr address)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(b->module, &bias);
	Elf_Scn *section = elf ? elf_getscn(elf, number) : NULL;
	GElf_Shdr header;

	if (!section || !gelf_getshdr(section, &header))
		return true;
	return address - bias >= header.sh_addr && address - bias - header.sh_addr < header.sh_size;
}

static void add_symbol(struct builder *b, int index)
{
	struct candidate *c = &b->symbols[b->symbol_cnt];
	GElf_Word section = 0;
	GElf_Sym symbol;

	c->name =
		dwfl_module_getsym_info(b->module, index, &symbol, &c->start, &section, NULL, NULL);
	if (c->name && GELF_ST_TYPE(symbol.st_info) == STT_FILE)
		b->source = c->name;
	if (!is_candidate(c->name, &symbol, section))
		return;
	c->end = c->start + symbol.st_size;
	if (c->end < c->start || (!symbol.st_size && !is_in_its_section(b, section, c->start)))
		return;
	c->rank = rank_of(&symbol);
	c->number = index;
	find_out_whose(b, c, &symbol);
	b->symbol_cnt++;
	add_boundary(b, c->start, false);
	add_boundary(b, symbol.st_size ? c->end : c->start + SYMBOL_SIZELESS, false);
}

/* A symbol without a size ends where its section does. */
static void add_sections(struct builder *b)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(b->module, &bias);
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t cnt = 0;

	while (elf && cnt++ < SECTIONS_MAX / 2 && (section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_ALLOC))
			continue;
		b->sections[b->section_cnt].start = header.sh_addr + bias;
		b->sections[b->section_cnt++].end = header.sh_addr + header.sh_size + bias;
		add_boundary(b, header.sh_addr + bias, true);
		add_boundary(b, header.sh_addr + header.sh_size + bias, true);
	}
}

/* Sorts and removes duplicates; the first is at 0, so that every address is in a range. */
static void sort_boundaries(struct builder *b)
{
	size_t kept = 0;

	qsort(b->list, b->cnt, sizeof(*b->list), compare_ranges);
	for (size_t i = 1; i < b->cnt; i++) {
		if (b->list[i].start != b->list[kept].start)
			b->list[++kept] = b->list[i];
		else
			b->list[kept].is_edge |= b->list[i].is_edge;
	}
	b->cnt = kept + 1;
}

/* Index of the range that contains the address; there always is one. */
static size_t part_at(const struct symbol_range *list, size_t cnt, GElf_Addr address)
{
	return sorted_below(cnt, i, list[i].start <= address) - 1;
}

/* The first range from there on without a name; every step shortens the next search. */
static __u32 find_free(struct builder *b, __u32 i)
{
	while (b->next[i] != i) {
		b->next[i] = b->next[b->next[i]];
		i = b->next[i];
	}
	return i;
}

static void give_name(struct builder *b, __u32 i, const struct candidate *c)
{
	b->list[i].name = c->name;
	b->list[i].is_python = c->is_python;
	b->list[i].symbol_start = c->start;
	b->next[i] = i + 1;
}

/* Names all ranges between its start and its end that have no name yet. */
static void paint(struct builder *b, const struct candidate *c)
{
	__u32 i = find_free(b, (__u32)part_at(b->list, b->cnt, c->start));

	for (; i < b->cnt && b->list[i].start < c->end; i = find_free(b, i))
		give_name(b, i, c);
}

/* The linker's own symbols, "__ehdr_start", lie outside of all sections. */
static bool is_in_section(const struct builder *b, GElf_Addr address)
{
	for (size_t i = 0; i < b->section_cnt; i++) {
		if (address >= b->sections[i].start && address < b->sections[i].end)
			return true;
	}
	return false;
}

/* Up to the next name, or the end of the section. */
static void paint_sizeless(struct builder *b, const struct candidate *c)
{
	size_t i = part_at(b->list, b->cnt, c->start);

	if (b->list[i].name || !is_in_section(b, c->start))
		return;
	do {
		if (b->list[i].name || b->list[i].start - c->start >= SYMBOL_SIZELESS)
			return;
		give_name(b, (__u32)i, c);
	} while (++i < b->cnt && !b->list[i].is_edge);
}

static void paint_all(struct builder *b)
{
	for (__u32 i = 0; i <= b->cnt; i++)
		b->next[i] = i;
	qsort(b->symbols, b->symbol_cnt, sizeof(*b->symbols), compare_candidates);
	for (size_t i = 0; i < b->symbol_cnt; i++) {
		const struct candidate *c = &b->symbols[i];

		if (c->end > c->start)
			paint(b, c);
		else
			paint_sizeless(b, c);
	}
}

static void make(struct symbol_ranges *p, Dwfl_Module *module)
{
	int symbols = dwfl_module_getsymtab(module);
	struct builder b = { .module = module, .cnt = 1, .source = "" };
	size_t room;

	p->made = true;
	if (symbols < 0 || symbols > SYMBOLS_MAX)
		return;
	room = 2 * (size_t)symbols + SECTIONS_MAX + 1;
	b.list = calloc(room, sizeof(*b.list));
	b.symbols = calloc((size_t)symbols + 1, sizeof(*b.symbols));
	b.next = calloc(room + 1, sizeof(*b.next));
	b.anchors = calloc((size_t)symbols + 1, sizeof(*b.anchors));
	if (b.list && b.symbols && b.next && b.anchors) {
		add_sections(&b);
		for (int i = 0; i < symbols; i++)
			add_symbol(&b, i);
		settle_whose(&b);
		sort_boundaries(&b);
		paint_all(&b);
		p->cnt = b.cnt;
		p->list = reallocarray(b.list, b.cnt, sizeof(*b.list));
		if (!p->list)
			p->list = b.list;
		b.list = NULL;
	}
	free(b.list);
	free(b.symbols);
	free(b.next);
	free(b.anchors);
}

struct symbol_range *symbol_ranges_find(struct symbol_ranges *p, Dwfl_Module *module,
					GElf_Addr address, GElf_Addr *ret_end)
{
	size_t i;

	if (!p->made)
		make(p, module);
	if (!p->cnt)
		return NULL;
	i = part_at(p->list, p->cnt, address);
	*ret_end = i + 1 < p->cnt ? p->list[i + 1].start : ~0ULL;
	return &p->list[i];
}

void symbol_ranges_free(struct symbol_ranges *p)
{
	free(p->list);
	*p = (struct symbol_ranges){ 0 };
}
