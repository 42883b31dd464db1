/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dso_elf.c - writes a generation of the DSO as an ELF file, using libelf with our own layout: file
 * offset, address and offset in the mapping are all equal, because perf converts between them.
 *
 * Two empty functions follow the last one: hotspot 1.6 does not find the last two of a library.
 */
#include "capture/dso/dso.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>

#include "capture/dso/dso_nop.h"
#include "capture/dso/dso_text.h"
#include "profile/marks.h"
#include "base/data/cleanup.h"
#include "base/text/printable.h"
#include "base/text/short_path.h"
#include "base/text/stream.h"

#define DUMMY_CNT 2
/* Right after the ELF header and the two program headers. */
#define NOTE_OFFSET (sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr))

static void remove_syntax(char *symbol)
{
	for (char *s = symbol; *s; s++) {
		if (*s == ';')
			*s = ':';
		else if (*s == '(')
			*s = '[';
		else if (*s == ')')
			*s = ']';
		else if (*s == '-' && s[1] == '>')
			*s = '=';
	}
}

char *dso_symbol(const struct dict *dict, const struct dso_function *f)
{
	const struct profile_code *code = dict__code_at(dict, f->code);
	const struct profile_frame *frame = dict__frame_at(dict, f->frame);
	const char *name = dict__text(dict, f->code ? code->name : frame->name);
	const char *file = dict__text(dict, f->code ? code->file : frame->file);
	cleanup_free char *text = NULL;
	char *symbol;
	int n;

	if (!f->code && !f->frame)
		return strdup(MARK_NO_FUNCTION);
	if (!f->code && frame->kind != FRAME_PYTHON)
		n = asprintf(&text, "%s", name);
	else
		n = asprintf(&text, DSO_PYTHON_PREFIX "%s%s%s", *name ? name : NAME_EMPTY,
			     *file ? ":" : "", short_path(file));
	if (n < 0) {
		text = NULL;
		return NULL;
	}
	symbol = printable(text);
	if (symbol)
		remove_syntax(symbol);
	return symbol;
}

struct image {
	const struct dso *dso;
	__u32 generation;
	const struct dict *dict;
	Elf *elf;
	struct bytes text, note, symtab, strtab, names, all_names;
	struct dwarf dwarf;
	size_t end; /* of what has been placed in the file */
};

static void put_note(struct bytes *b, const __u8 *build_id)
{
	bytes_u32(b, sizeof("GNU"));
	bytes_u32(b, DSO_BUILD_ID_SIZE);
	bytes_u32(b, NT_GNU_BUILD_ID);
	bytes_text(b, "GNU");
	bytes_put(b, build_id, DSO_BUILD_ID_SIZE);
}

static void put_symbol(struct image *m, const char *name, __u64 value, __u64 size)
{
	const Elf64_Sym sym = {
		.st_name = (Elf64_Word)m->strtab.len,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		.st_shndx = 1, /* .text */
		.st_value = value,
		.st_size = size,
	};

	bytes_put(&m->symtab, &sym, sizeof(sym));
	bytes_text(&m->strtab, name);
}

static int put_symbols(struct image *m)
{
	__u32 cnt, end = dso__end(m->dso, m->generation);
	const struct dso_function *functions = dso__functions(m->dso, m->generation, &cnt);

	bytes_fill(&m->symtab, 0, sizeof(Elf64_Sym));
	bytes_u8(&m->strtab, 0);
	for (__u32 i = 0; i < cnt; i++) {
		cleanup_free char *name = dso_symbol(m->dict, &functions[i]);

		if (!name)
			return -ENOMEM;
		put_symbol(m, name, functions[i].offset, functions[i].slot_cnt * DSO_SLOT);
	}
	for (unsigned i = 0; i < DUMMY_CNT; i++)
		put_symbol(m, "[end]", end + i * DSO_SLOT, DSO_SLOT);
	return 0;
}

/* Fills in the opcodes of a function that somebody has looked at. */
static void put_opcodes(struct image *m, const struct dso_function *f)
{
	const struct profile_code *code = dict__code_at(m->dict, f->code);
	__u32 units = code->unit_cnt < f->slot_cnt - 2 ? code->unit_cnt : f->slot_cnt - 2;

	for (__u32 i = 0; code->opcodes && i < units; i++)
		dso_nop_put(m->text.data + f->offset - DSO_TEXT_OFFSET + (size_t)DSO_SLOT * i,
			    code->opcodes[i]);
}

static void put_text(struct image *m)
{
	__u32 end = dso__end(m->dso, m->generation) + DUMMY_CNT * DSO_SLOT, cnt;
	const struct dso_function *f = dso__functions(m->dso, m->generation, &cnt);
	__u8 nop[DSO_SLOT];

	dso_nop_put(nop, 0);
	for (__u32 at = DSO_TEXT_OFFSET; at < end; at += DSO_SLOT)
		bytes_put(&m->text, nop, sizeof(nop));
	for (__u32 i = 0; i < cnt && !m->text.failed; i++)
		if (f[i].code)
			put_opcodes(m, &f[i]);
}

struct section {
	const char *name;
	__u32 type;
	__u64 flags, offset; /* offset 0: after the previous section */
	__u32 link, info, entry_size, align;
};

static int add_section(struct image *m, const struct section *s, const struct bytes *content)
{
	size_t align = s->align ? s->align : 1;
	Elf_Scn *scn = elf_newscn(m->elf);
	Elf_Data *data = scn ? elf_newdata(scn) : NULL;
	Elf64_Shdr *shdr = scn ? elf64_getshdr(scn) : NULL;

	if (!data || !shdr || content->failed || m->names.failed)
		return -ENOMEM;
	*data = (Elf_Data){
		.d_buf = content->data,
		.d_size = content->len,
		.d_type = ELF_T_BYTE,
		.d_version = EV_CURRENT,
		.d_align = 1,
	};
	*shdr = (Elf64_Shdr){
		.sh_name = (Elf64_Word)m->names.len,
		.sh_type = s->type,
		.sh_flags = s->flags,
		.sh_offset = s->offset ? s->offset : (m->end + align - 1) / align * align,
		.sh_size = content->len,
		.sh_link = s->link,
		.sh_info = s->info,
		.sh_entsize = s->entry_size,
		.sh_addralign = align,
	};
	if (s->flags & SHF_ALLOC)
		shdr->sh_addr = shdr->sh_offset;
	if (shdr->sh_offset + shdr->sh_size > m->end)
		m->end = shdr->sh_offset + shdr->sh_size;
	bytes_text(&m->names, s->name);
	return 0;
}

/* .text is section 1, because symbols refer to it; .strtab is 4. */
static int add_sections(struct image *m, const char *notes)
{
	struct bytes own = { .data = (__u8 *)(size_t)notes, .len = strlen(notes) };
	const struct {
		struct section section;
		const struct bytes *content;
	} list[] = {
		{ { ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, DSO_TEXT_OFFSET,
		    .align = 16 },
		  &m->text },
		{ { ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, NOTE_OFFSET, .align = 4 },
		  &m->note },
		{ { ".symtab", SHT_SYMTAB, .link = 4, .info = 1, .entry_size = sizeof(Elf64_Sym),
		    .align = 8 },
		  &m->symtab },
		{ { ".strtab", SHT_STRTAB }, &m->strtab },
		{ { ".debug_info", SHT_PROGBITS }, &m->dwarf.info },
		{ { ".debug_abbrev", SHT_PROGBITS }, &m->dwarf.abbrev },
		{ { ".debug_line", SHT_PROGBITS }, &m->dwarf.line },
		{ { ".debug_aranges", SHT_PROGBITS, .align = 16 }, &m->dwarf.aranges },
		{ { DSO_NOTES_SECTION, SHT_PROGBITS }, &own },
	};
	int err = 0;

	bytes_u8(&m->names, 0);
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]) && !err; i++)
		err = add_section(m, &list[i].section, list[i].content);
	return err;
}

/* The names of the sections; its own comes last. */
static int add_names(struct image *m)
{
	static const char own[] = ".shstrtab";
	const struct section section = { own, SHT_STRTAB };
	struct bytes all = { 0 };

	bytes_put(&all, m->names.data, m->names.len);
	bytes_text(&all, own);
	bytes_free(&m->all_names);
	m->all_names = all;
	return add_section(m, &section, &m->all_names);
}

static int add_headers(struct image *m)
{
	__u64 text_end = dso__end(m->dso, m->generation) + DUMMY_CNT * DSO_SLOT;
	Elf64_Ehdr *ehdr = elf64_newehdr(m->elf);
	Elf64_Phdr *phdr = ehdr ? elf64_newphdr(m->elf, 2) : NULL;

	if (!phdr)
		return -ENOMEM;
	ehdr->e_ident[EI_DATA] = ELFDATA2LSB;
	ehdr->e_type = ET_DYN;
	ehdr->e_machine = ARCH_ELF_MACHINE;
	ehdr->e_version = EV_CURRENT;
	phdr[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_filesz = text_end,
				.p_memsz = text_end,
				.p_align = 0x1000 };
	phdr[1] = (Elf64_Phdr){ .p_type = PT_NOTE,
				.p_flags = PF_R,
				.p_offset = NOTE_OFFSET,
				.p_vaddr = NOTE_OFFSET,
				.p_paddr = NOTE_OFFSET,
				.p_filesz = m->note.len,
				.p_memsz = m->note.len,
				.p_align = 4 };
	return 0;
}

static int build(struct image *m, const char *notes)
{
	Elf64_Ehdr *ehdr;
	size_t last;
	int err;

	put_note(&m->note, dso__build_id(m->dso, m->generation));
	put_text(m);
	err = put_symbols(m);
	if (!err)
		err = dwarf_build(&m->dwarf, m->dso, m->generation, m->dict);
	if (!err)
		err = add_headers(m);
	if (!err)
		err = add_sections(m, notes);
	if (!err)
		err = add_names(m);
	ehdr = elf64_getehdr(m->elf);
	if (err || !ehdr || elf_getshdrnum(m->elf, &last))
		return err ? err : -EIO;
	ehdr->e_phoff = sizeof(Elf64_Ehdr);
	ehdr->e_shoff = (m->end + 7) / 8 * 8;
	ehdr->e_shstrndx = (Elf64_Half)(last - 1);
	elf_flagelf(m->elf, ELF_C_SET, ELF_F_LAYOUT | ELF_F_DIRTY);
	errno = 0;
	if (elf_update(m->elf, ELF_C_WRITE) < 0)
		return stream_cause();
	return 0;
}

int dso__write(const struct dso *d, __u32 generation, const struct dict *dict, const char *notes,
	       int fd)
{
	struct image m = { .dso = d, .generation = generation, .dict = dict };
	int err = -EIO;

	if (elf_version(EV_CURRENT) != EV_NONE)
		m.elf = elf_begin(fd, ELF_C_WRITE, NULL);
	if (m.elf)
		err = build(&m, notes);
	elf_end(m.elf);
	dwarf_free(&m.dwarf);
	bytes_free(&m.text);
	bytes_free(&m.note);
	bytes_free(&m.symtab);
	bytes_free(&m.strtab);
	bytes_free(&m.names);
	bytes_free(&m.all_names);
	return err;
}
