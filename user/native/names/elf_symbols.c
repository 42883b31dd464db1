/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/names/elf_symbols.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <gelf.h>
#include <linux/types.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "native/names/dwarf_source.h"
#include "native/names/plt.h"
#include "native/names/symbol_ranges.h"
#include "process/elf/dwfl_file.h"
#include "base/data/cleanup.h"

/* ---- elf bounds -------------------------------------------------------------------------------- */

/*
 * Is a file too large for elfutils, which reads every symbol that a file claims to
 * have and unpacks all compressed sections?
 *
 * Must hold: reads only headers, and the last 64 KiB of compressed data.
 */

/* The largest files have 300,000 symbols, and distributions' .gnu_debugdata unpacks to 1 MiB. */
#define ELF_SYMBOLS_MAX 1000000
#define ELF_DEBUGDATA_MAX (64U << 20)

/* The index at the end of xz data: 16 bytes per block, and there are few. */
#define INDEX_MAX 65536
#define INDEX_MEMORY_MAX (4ULL << 20)

static bool read_all(int fd, void *buf, size_t len, __u64 at)
{
	return pread(fd, buf, len, (off_t)at) == (ssize_t)len;
}

/* The unpacked size that it claims; ~0 if unknown. A false claim runs into RLIMIT_AS. */
static __u64 unpacked_size(int fd, __u64 at, __u64 size)
{
	cleanup_free __u8 *list = NULL;
	__u8 footer[LZMA_STREAM_HEADER_SIZE];
	lzma_stream_flags flags;
	lzma_index *index = NULL;
	uint64_t memory = INDEX_MEMORY_MAX, unpacked = ~0ULL;
	size_t pos = 0;

	if (size < 2 * sizeof(footer) ||
	    !read_all(fd, footer, sizeof(footer), at + size - sizeof(footer)) ||
	    lzma_stream_footer_decode(&flags, footer) != LZMA_OK ||
	    flags.backward_size > INDEX_MAX || flags.backward_size > size - 2 * sizeof(footer))
		return ~0ULL;
	list = malloc(flags.backward_size);
	if (list &&
	    read_all(fd, list, flags.backward_size,
		     at + size - sizeof(footer) - flags.backward_size) &&
	    lzma_index_buffer_decode(&index, &memory, NULL, list, &pos, flags.backward_size) ==
		    LZMA_OK &&
	    lzma_index_stream_size(index) == size)
		unpacked = lzma_index_uncompressed_size(index);
	lzma_index_end(index, NULL);
	return unpacked;
}

static bool section_is_too_much(int fd, Elf *elf, const GElf_Shdr *s, size_t names)
{
	const char *name;

	if (s->sh_type == SHT_SYMTAB || s->sh_type == SHT_DYNSYM)
		return s->sh_size / sizeof(Elf64_Sym) > ELF_SYMBOLS_MAX;
	name = s->sh_type == SHT_NOBITS ? NULL : elf_strptr(elf, names, s->sh_name);
	return name && !strcmp(name, ".gnu_debugdata") &&
	       (s->sh_size > ELF_DEBUGDATA_MAX ||
		unpacked_size(fd, s->sh_offset, s->sh_size) > ELF_DEBUGDATA_MAX);
}

static bool is_too_much(int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	Elf_Scn *section = NULL;
	bool too_much = false;
	GElf_Shdr header;
	size_t names;

	if (elf && !elf_getshdrstrndx(elf, &names)) {
		while (!too_much && (section = elf_nextscn(elf, section)))
			too_much = gelf_getshdr(section, &header) &&
				   section_is_too_much(fd, elf, &header, names);
	}
	elf_end(elf);
	return too_much;
}

/* For a file, and one with its debug information, or -1. What is not an ELF file is not too large. */
static bool elf_bounds_exceeded(int fd, int debug_fd)
{
	elf_version(EV_CURRENT);
	return is_too_much(fd) || (debug_fd >= 0 && is_too_much(debug_fd));
}

/* ---- elf symbols ------------------------------------------------------------------------------- */

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
