/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/names/plt.h"

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "native/names/demangle.h"
#include "process/elf/a64_code.h"
#include "base/data/cleanup.h"
#include "base/data/vec.h"

#define SECTIONS_MAX 3
/* Bytes of relocations and symbols to examine per file: five times what any known file has. */
#define LOOK_MAX (256ULL << 20)
/* The section says how long its stubs are, within these limits; otherwise the longest is assumed. */
#define STUB_MIN 8
#define STUB_MAX 16
/* Bytes of "mov $n, %r11d". */
#define MOV_R11D 6

struct stubs {
	GElf_Addr start;
	const unsigned char *code;
	size_t size, stub_size;
};

/* A word of the global offset table. */
struct word {
	GElf_Addr address;
	size_t strings, symbol; /* section and offset of the symbol's name */
	char *name; /* of the stub; NULL until requested */
};

struct form;

struct plt {
	Elf *elf;
	const struct form *form; /* of its machine's stubs; NULL: unknown */
	struct stubs sections[SECTIONS_MAX];
	unsigned section_cnt;
	bool words_read;
	GElf_Xword looked; /* bytes examined, of LOOK_MAX */
	struct word *words; /* by address */
	size_t word_cnt, word_capacity;
};

/* ---- forms of stubs, by the file's machine ----------------------------------------------------- */

/* The stub that an instruction belongs to, and the word that it jumps through. */
struct form {
	__u16 machine;
	/* Relocations of such words: that of stubs, and that of pointers to functions. */
	__u32 jump_slot, glob_dat;
	bool (*find)(const struct stubs *s, size_t offset, size_t *ret_start, GElf_Addr *ret_word);
};

/*
 * All kinds of stubs contain "jmp *displacement(%rip)"; endbr64, the number of the symbol (mold:
 * "mov $n, %r11d"), and bnd may precede it.
 */
static bool x86_find(const struct stubs *s, size_t offset, size_t *ret_start, GElf_Addr *ret_word)
{
	static const unsigned char endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa }, jump[] = { 0xff, 0x25 };
	const size_t start = offset - offset % s->stub_size, size = s->stub_size;
	const unsigned char *code = s->code + start;
	size_t at = 0;
	__s32 displacement;

	if (s->size - start < size)
		return false;
	if (size >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)))
		at += sizeof(endbr64);
	if (at + MOV_R11D < size && code[at] == 0x41 && code[at + 1] == 0xbb)
		at += MOV_R11D;
	if (at < size && code[at] == 0xf2)
		at++;
	if (at + sizeof(jump) + sizeof(displacement) > size ||
	    memcmp(code + at, jump, sizeof(jump)) != 0)
		return false;
	at += sizeof(jump);
	memcpy(&displacement, code + at, sizeof(displacement));
	*ret_start = start;
	*ret_word = s->start + start + at + sizeof(displacement) + (GElf_Addr)(__s64)displacement;
	return true;
}

static __u32 a64_word(const struct stubs *s, size_t offset)
{
	__u32 word = 0;

	if (offset < s->size && s->size - offset >= sizeof(word))
		memcpy(&word, s->code + offset, sizeof(word));
	return word;
}

/*
 * "adrp x16, page; ldr x17, [x16, #n]; add x16, x16, #n (or nop); br x17": bti c may precede it, autia1716 the jump. The size
 * of a stub does not tell where one begins: what precedes the first has another size.
 */
static bool a64_find(const struct stubs *s, size_t offset, size_t *ret_start, GElf_Addr *ret_word)
{
	static const __u32 bti_c = 0xd503245f;
	const size_t at = offset & ~(size_t)3;
	size_t adrp = at;
	__u64 page;
	__u32 load;

	/* On the mark it begins after that. */
	if (a64_word(s, at) == bti_c)
		adrp += 4;
	while (!a64_adrp(a64_word(s, adrp), 16, s->start + adrp, &page)) {
		if (!adrp || at - adrp >= STUB_MAX)
			return false;
		adrp -= 4;
	}
	load = a64_word(s, adrp + 4);
	if ((load & 0xffc003ff) != 0xf9400211)
		return false;
	*ret_word = page + (load >> 10 & 0xfff) * 8;
	*ret_start = adrp >= 4 && a64_word(s, adrp - 4) == bti_c ? adrp - 4 : adrp;
	return true;
}

static const struct form forms[] = {
	{ EM_X86_64, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, x86_find },
	{ EM_AARCH64, R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, a64_find },
};

/* ---- sections with stubs ---------------------------------------------------------------------- */

static void add_section(struct plt *p, Elf_Scn *section, const GElf_Shdr *shdr)
{
	Elf_Data *data = elf_getdata(section, NULL);
	struct stubs *s = &p->sections[p->section_cnt];

	if (!data || !data->d_buf)
		return;
	*s = (struct stubs){
		.start = shdr->sh_addr,
		.code = data->d_buf,
		.size = data->d_size,
		.stub_size = shdr->sh_entsize >= STUB_MIN && shdr->sh_entsize <= STUB_MAX ?
				     shdr->sh_entsize :
				     STUB_MAX,
	};
	p->section_cnt++;
}

static void find_sections(struct plt *p)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(p->elf, &names))
		return;
	while (p->section_cnt < SECTIONS_MAX && (section = elf_nextscn(p->elf, section))) {
		GElf_Shdr shdr;
		const char *name;

		if (!gelf_getshdr(section, &shdr) || shdr.sh_type != SHT_PROGBITS ||
		    !(shdr.sh_flags & SHF_EXECINSTR))
			continue;
		name = elf_strptr(p->elf, names, shdr.sh_name);
		if (name && (!strcmp(name, ".plt") || !strcmp(name, ".plt.sec") ||
			     !strcmp(name, ".plt.got")))
			add_section(p, section, &shdr);
	}
}

struct plt *plt__new(Elf *elf)
{
	struct plt *p = calloc(1, sizeof(*p));
	GElf_Ehdr header;

	if (!p)
		return NULL;
	p->elf = elf;
	if (!gelf_getehdr(elf, &header) || header.e_ident[EI_DATA] != ELFDATA2LSB)
		return p;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (forms[i].machine == header.e_machine)
			p->form = &forms[i];
	if (p->form)
		find_sections(p);
	return p;
}

void plt__free(struct plt *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->word_cnt; i++)
		free(p->words[i].name);
	free(p->words);
	free(p);
}

/* ---- words of the global offset table that have a name ---------------------------------------- */

static struct word *new_word(struct plt *p)
{
	if (vec_reserve(p->words, p->word_capacity, p->word_cnt + 1))
		return NULL;
	return &p->words[p->word_cnt++];
}

/* Sections may overlap and refer to each other in any way, so what is examined is limited. */
static Elf_Data *look_at(struct plt *p, Elf_Scn *section, GElf_Shdr *ret_shdr)
{
	if (!section || !gelf_getshdr(section, ret_shdr) ||
	    ret_shdr->sh_size > LOOK_MAX - p->looked)
		return NULL;
	p->looked += ret_shdr->sh_size;
	return elf_getdata(section, NULL);
}

/* Each relocation says where the dynamic loader stores the address of a symbol. */
static void read_relocations(struct plt *p, Elf_Scn *section)
{
	GElf_Shdr shdr, symbol_shdr;
	Elf_Data *relocations = look_at(p, section, &shdr), *symbols;
	GElf_Rela r;
	GElf_Sym symbol;

	symbols = relocations ? look_at(p, elf_getscn(p->elf, shdr.sh_link), &symbol_shdr) : NULL;
	for (int i = 0; symbols && gelf_getrela(relocations, i, &r); i++) {
		struct word *w;

		if ((GELF_R_TYPE(r.r_info) != p->form->jump_slot &&
		     GELF_R_TYPE(r.r_info) != p->form->glob_dat) ||
		    !gelf_getsym(symbols, (int)GELF_R_SYM(r.r_info), &symbol) || !symbol.st_name)
			continue;
		w = new_word(p);
		if (!w)
			return;
		*w = (struct word){
			.address = r.r_offset,
			.strings = symbol_shdr.sh_link,
			.symbol = symbol.st_name,
		};
	}
}

static int by_address(const void *a, const void *b)
{
	const struct word *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static void read_words(struct plt *p)
{
	Elf_Scn *section = NULL;
	GElf_Shdr shdr;

	p->words_read = true;
	while ((section = elf_nextscn(p->elf, section))) {
		/* Only loaded sections: others are for linkers and debuggers. */
		if (gelf_getshdr(section, &shdr) && shdr.sh_type == SHT_RELA &&
		    (shdr.sh_flags & SHF_ALLOC))
			read_relocations(p, section);
	}
	if (p->word_cnt)
		qsort(p->words, p->word_cnt, sizeof(*p->words), by_address);
}

/* ---- names of stubs ---------------------------------------------------------------------------- */

static const char *name_of(struct plt *p, GElf_Addr word_address)
{
	struct word key = { .address = word_address };
	cleanup_free char *plain = NULL;
	const char *symbol;
	bool is_wrapper;
	struct word *w;

	if (!p->words_read)
		read_words(p);
	w = p->word_cnt ? bsearch(&key, p->words, p->word_cnt, sizeof(key), by_address) : NULL;
	if (!w || w->name)
		return w ? w->name : NULL;
	symbol = elf_strptr(p->elf, w->strings, w->symbol);
	plain = symbol && *symbol ? demangle(symbol, &is_wrapper) : NULL;
	if (!plain || asprintf(&w->name, "%s@plt", plain) < 0)
		w->name = NULL;
	return w->name;
}

const char *plt__find(struct plt *p, GElf_Addr address, GElf_Addr *ret_start)
{
	for (unsigned i = 0; i < p->section_cnt; i++) {
		const struct stubs *s = &p->sections[i];
		GElf_Addr word;
		size_t start;

		if (address < s->start || address - s->start >= s->size)
			continue;
		if (!p->form->find(s, address - s->start, &start, &word))
			return NULL;
		*ret_start = s->start + start;
		return name_of(p, word);
	}
	return NULL;
}

bool plt__covers(const struct plt *p, GElf_Addr address)
{
	for (unsigned i = 0; i < p->section_cnt; i++)
		if (address - p->sections[i].start < p->sections[i].size)
			return true;
	return false;
}
