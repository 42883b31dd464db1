/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/elf_symbols.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/dwarf_source.h"
#include "symbol/elf_bounds.h"
#include "symbol/plt.h"
#include "symbol/symbol_ranges.h"
#include "target/dwfl_file.h"

struct elf_symbols {
	struct dwfl_file file;
	struct symbol_ranges parts;
	struct plt *plt; /* created on first use */
	struct dwarf_source *source; /* likewise */
};

int elf_symbols__new(struct elf_symbols **ret, int fd, int debug_fd)
{
	struct elf_symbols *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	err = dwfl_file_open(&s->file, fd, debug_fd);
	if (!err && elf_bounds_exceeded(fd, debug_fd))
		err = -E2BIG;
	if (err) {
		elf_symbols__free(s);
		return err;
	}
	*ret = s;
	return 0;
}

void elf_symbols__free(struct elf_symbols *s)
{
	if (!s)
		return;
	dwarf_source__free(s->source);
	dwfl_file_close(&s->file);
	plt__free(s->plt);
	symbol_ranges_free(&s->parts);
	free(s);
}

/* The file's address for that offset. */
static bool address_of(Elf *elf, __u64 offset, GElf_Addr *ret)
{
	GElf_Phdr phdr;
	size_t cnt;

	if (elf_getphdrnum(elf, &cnt))
		return false;
	for (size_t i = 0; i < cnt; i++) {
		if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_LOAD ||
		    offset < phdr.p_offset || offset - phdr.p_offset >= phdr.p_filesz)
			continue;
		*ret = phdr.p_vaddr + (offset - phdr.p_offset);
		return true;
	}
	return false;
}

/* The name and start of the stub at an address of the file; NULL: none. */
static const char *ask_plt(struct elf_symbols *s, Elf *elf, GElf_Addr address, GElf_Addr *ret_start)
{
	if (!s->plt)
		s->plt = plt__new(elf);
	return s->plt ? plt__find(s->plt, address, ret_start) : NULL;
}

/* All addresses in the same segment as this offset, as offsets of the file. */
static bool load_range(Elf *elf, __u64 offset, struct elf_place *ret)
{
	GElf_Phdr phdr;
	size_t cnt;

	if (elf_getphdrnum(elf, &cnt))
		return false;
	for (size_t i = 0; i < cnt; i++) {
		if (gelf_getphdr(elf, (int)i, &phdr) && phdr.p_type == PT_LOAD &&
		    offset >= phdr.p_offset && offset - phdr.p_offset < phdr.p_filesz) {
			/* A hostile file may claim to extend beyond the last possible offset. */
			if (phdr.p_filesz > ~0ULL - phdr.p_offset)
				return false;
			ret->start = phdr.p_offset;
			ret->end = phdr.p_offset + phdr.p_filesz;
			return true;
		}
	}
	return false;
}

/* Narrows the place to a range of addresses, converted to offsets: both are in the same segment. */
static void narrow(struct elf_place *place, __u64 offset, GElf_Addr address, GElf_Addr start,
		   GElf_Addr end)
{
	if (address - start < offset - place->start)
		place->start = offset - (address - start);
	if (end - address < place->end - offset)
		place->end = offset + (end - address);
}

void elf_symbols__place(struct elf_symbols *s, __u64 file_offset, struct elf_place *ret)
{
	GElf_Addr bias, address, start = 0, end;
	struct symbol_range *part;
	Elf *elf = dwfl_module_getelf(s->file.module, &bias);

	*ret = (struct elf_place){ .start = file_offset, .end = file_offset + 1 };
	if (!ret->end) {
		/* The last possible offset: no file has it. */
		ret->start--;
		ret->end--;
	}
	if (!elf || !address_of(elf, file_offset, &address) || !load_range(elf, file_offset, ret))
		return;
	ret->name = ask_plt(s, elf, address, &start);
	if (ret->name)
		ret->symbol_start = file_offset - (address - start);
	/* Each stub is different. */
	if (s->plt && plt__covers(s->plt, address)) {
		ret->start = file_offset;
		ret->end = file_offset + 1;
	}
	if (ret->name)
		return;
	address += bias;
	part = symbol_ranges_find(&s->parts, s->file.module, address, &end);
	if (!part) {
		ret->start = file_offset;
		ret->end = file_offset + 1;
		return;
	}
	narrow(ret, file_offset, address, part->start, end);
	ret->name = part->name;
	ret->is_python = part->is_python;
	if (ret->name)
		ret->symbol_start = file_offset - (address - part->symbol_start);
}

unsigned elf_symbols__source(struct elf_symbols *s, __u64 file_offset, struct source_frame *ret,
			     bool *ret_is_split)
{
	GElf_Addr bias, address;
	Elf *elf = dwfl_module_getelf(s->file.module, &bias);

	*ret_is_split = false;
	if (!elf || !address_of(elf, file_offset, &address))
		return 0;
	if (!s->source)
		s->source = dwarf_source__new(s->file.module);
	return s->source ? dwarf_source__find(s->source, address + bias, ret, ret_is_split) : 0;
}

unsigned elf_symbols__build_id(struct elf_symbols *s, __u8 ret[BUILD_ID_MAX])
{
	const unsigned char *bits;
	GElf_Addr at;
	int size = dwfl_module_build_id(s->file.module, &bits, &at);

	if (size <= 0 || size > BUILD_ID_MAX)
		return 0;
	memcpy(ret, bits, (size_t)size);
	return (unsigned)size;
}

bool elf_symbols__has_table(struct elf_symbols *s)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(s->file.module, &bias);
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while (elf && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
			return true;
	return false;
}
