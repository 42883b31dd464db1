/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/dwarf_split.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/dwarf_numbers.h"
#include "util/cleanup.h"

/* Longer names are ignored. */
#define NAME_MAX_LEN 4000U
/* Units of one .dwo: link-time optimization puts some hundreds in one. */
#define UNITS_MAX 10000U

struct dwarf_split {
	const struct dwo_file *file; /* borrowed */
	struct dwo_piece offsets; /* of texts */
	struct dwarf_numbers numbers;
	size_t bytes;
	Elf *elf;
	Dwarf *dwarf; /* reads elf */
	Dwarf_Die unit;
	__u8 *image; /* an ELF file with only this unit */
	__u8 *lists;
};

/* ---- the unit as a file of its own -------------------------------------------------------------- */

#define IMAGE_SECTIONS 4 /* none, the functions, their abbreviations, names of sections */
static const char image_names[] = "\0.debug_info\0.debug_abbrev\0.shstrtab";

static void put_header(__u8 *image, const struct dwo_piece *info, const struct dwo_piece *abbrev,
		       __u64 names_at, __u64 headers_at)
{
	const Elf64_Ehdr file = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(file),
		.e_shoff = headers_at,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = IMAGE_SECTIONS,
		.e_shstrndx = IMAGE_SECTIONS - 1,
	};
	const Elf64_Shdr headers[IMAGE_SECTIONS] = {
		{ .sh_type = SHT_NULL },
		{ .sh_name = 1,
		  .sh_type = SHT_PROGBITS,
		  .sh_offset = info->at,
		  .sh_size = info->size,
		  .sh_addralign = 1 },
		{ .sh_name = sizeof("\0.debug_info"),
		  .sh_type = SHT_PROGBITS,
		  .sh_offset = abbrev->at,
		  .sh_size = abbrev->size,
		  .sh_addralign = 1 },
		{ .sh_name = sizeof("\0.debug_info\0.debug_abbrev"),
		  .sh_type = SHT_STRTAB,
		  .sh_offset = names_at,
		  .sh_size = sizeof(image_names),
		  .sh_addralign = 1 },
	};

	memcpy(image, &file, sizeof(file));
	memcpy(image + names_at, image_names, sizeof(image_names));
	memcpy(image + headers_at, headers, sizeof(headers));
}

/*
 * libdw may read beyond a truncated number; that stays within the image, because names and headers
 * follow.
 */
static int make_image(struct dwarf_split *s, const struct dwo_piece *pieces)
{
	const struct dwo_piece info = { sizeof(Elf64_Ehdr), pieces[DWO_INFO].size };
	const struct dwo_piece abbrev = { info.at + info.size, pieces[DWO_ABBREV].size };
	const __u64 names_at = abbrev.at + abbrev.size;
	const __u64 headers_at = (names_at + sizeof(image_names) + 7) & ~7ULL;
	int err;

	s->bytes = headers_at + IMAGE_SECTIONS * sizeof(Elf64_Shdr);
	s->image = calloc(1, s->bytes);
	if (!s->image)
		return -ENOMEM;
	err = dwo_file_read(s->file, DWO_INFO, &pieces[DWO_INFO], 0, s->image + info.at, info.size);
	if (!err)
		err = dwo_file_read(s->file, DWO_ABBREV, &pieces[DWO_ABBREV], 0,
				    s->image + abbrev.at, abbrev.size);
	put_header(s->image, &info, &abbrev, names_at, headers_at);
	return err;
}

/* Finds the unit with that id. */
static int find_unit(struct dwarf_split *s, __u64 id)
{
	Dwarf_CU *unit = NULL;

	for (unsigned i = 0;
	     i < UNITS_MAX && !dwarf_get_units(s->dwarf, unit, &unit, NULL, NULL, NULL, NULL);
	     i++) {
		uint8_t type = 0, address_size = 0, offset_size = 0;
		uint64_t found = 0;

		if (!dwarf_cu_info(unit, NULL, &type, &s->unit, NULL, &found, &address_size,
				   &offset_size) &&
		    type == DW_UT_split_compile && found == id && address_size == 8 &&
		    offset_size == 4)
			return 0;
	}
	return -ESTALE;
}

/* ---- the other pieces ---------------------------------------------------------------------------- */

/* In DWARF 5 each has a header: a length, the version, and more. */
static void skip_header(const struct dwarf_split *s, struct dwo_piece *piece, __u64 size)
{
	if (s->numbers.version < 5)
		return;
	piece->at += piece->size < size ? piece->size : size;
	piece->size -= piece->size < size ? piece->size : size;
}

static int read_lists(struct dwarf_split *s, const struct dwo_piece *piece)
{
	s->lists = piece->size ? malloc(piece->size) : NULL;
	if (!piece->size || s->numbers.version < 5)
		return 0;
	if (!s->lists)
		return -ENOMEM;
	s->numbers.lists = s->lists;
	s->numbers.lists_size = piece->size;
	s->bytes += piece->size;
	return dwo_file_read(s->file, DWO_RNGLISTS, piece, 0, s->lists, piece->size);
}

static int read_unit(struct dwarf_split *s, const struct dwo_piece *pieces, Dwarf_Die *skeleton,
		     __u64 id)
{
	int err = make_image(s, pieces);

	if (err)
		return err;
	s->elf = elf_memory((char *)s->image, s->bytes);
	s->dwarf = s->elf ? dwarf_begin_elf(s->elf, DWARF_C_READ, NULL) : NULL;
	if (!s->dwarf)
		return -EBADMSG;
	err = find_unit(s, id);
	if (err)
		return err;
	dwarf_numbers_begin(&s->numbers, skeleton);
	s->offsets = pieces[DWO_STR_OFFSETS];
	skip_header(s, &s->offsets, 8);
	return read_lists(s, &pieces[DWO_RNGLISTS]);
}

int dwarf_split__new(struct dwarf_split **ret, const struct dwo_file *file, Dwarf_Die *skeleton,
		     __u64 id)
{
	struct dwo_piece pieces[DWO_SECTION_CNT];
	struct dwarf_split *s;
	__u64 all;
	int err = dwo_file_pieces(file, id, pieces);

	if (err)
		return err == -ENOENT ? -ESTALE : err;
	for (unsigned i = 0; i < DWO_SECTION_CNT; i++) {
		if (pieces[i].size > file->sections[i].size)
			return -EBADMSG;
	}
	all = pieces[DWO_INFO].size + pieces[DWO_ABBREV].size + pieces[DWO_RNGLISTS].size;
	if (all > DWARF_SPLIT_BYTES_MAX)
		return -E2BIG;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->file = file;
	err = read_unit(s, pieces, skeleton, id);
	if (err)
		dwarf_split__free(s);
	else
		*ret = s;
	return err;
}

void dwarf_split__free(struct dwarf_split *s)
{
	if (!s)
		return;
	dwarf_end(s->dwarf);
	elf_end(s->elf);
	free(s->image);
	free(s->lists);
	free(s);
}

Dwarf_Die *dwarf_split__unit(struct dwarf_split *s)
{
	return &s->unit;
}

size_t dwarf_split__bytes(const struct dwarf_split *s)
{
	return s->bytes;
}

/* ---- what a DIE says ----------------------------------------------------------------------------- */

int dwarf_pieces(const struct dwarf_split *split, Dwarf_Die *die, dwarf_piece_fn fn, void *ctx)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	int err = 0;

	if (split)
		return dwarf_numbers_pieces(&split->numbers, die, fn, ctx);
	for (unsigned i = 0; i < DWARF_PIECES_MAX && !err; i++) {
		at = dwarf_ranges(die, at, &base, &start, &end);
		if (at <= 0)
			break;
		err = fn(ctx, start, end);
	}
	return err;
}

static char *text_of(const struct dwarf_split *split, Dwarf_Attribute *at)
{
	const char *text;
	__u32 offset;
	__u64 number;

	if (split && dwarf_number_of_text(at, &number)) {
		if (number > split->offsets.size / sizeof(offset) ||
		    dwo_file_read(split->file, DWO_STR_OFFSETS, &split->offsets,
				  number * sizeof(offset), &offset, sizeof(offset)))
			return NULL;
		return dwo_file_text(split->file, offset, NAME_MAX_LEN + 1);
	}
	text = dwarf_formstring(at);
	return text ? strdup(text) : NULL;
}

char *dwarf_function_name(const struct dwarf_split *split, Dwarf_Die *die)
{
	static const unsigned kinds[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name };
	Dwarf_Attribute at;
	char *name = NULL;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !name; i++) {
		if (dwarf_attr_integrate(die, kinds[i], &at))
			name = text_of(split, &at);
	}
	return name;
}
