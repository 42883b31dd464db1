/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/dwarf_numbers.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <string.h>

/* Bytes read in sequence; when there are too few it ends. */
struct cursor {
	const __u8 *at, *end;
	bool over;
};

static __u64 take_bytes(struct cursor *c, unsigned size)
{
	__u64 value = 0;

	if ((size_t)(c->end - c->at) < size) {
		c->over = true;
		return 0;
	}
	memcpy(&value, c->at, size);
	c->at += size;
	return value;
}

static __u64 take_uleb(struct cursor *c)
{
	__u64 value = 0;

	for (unsigned shift = 0;; shift += 7) {
		__u64 byte = take_bytes(c, 1);

		if (shift >= 64)
			c->over = true;
		if (c->over)
			return 0;
		value |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
}

/* ---- what the program's file has --------------------------------------------------------------- */

/* All of a section, as libdw has unpacked it. */
static const __u8 *section_of(Elf *elf, const char *name, size_t *ret_size)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *found = gelf_getshdr(section, &header) ?
					    elf_strptr(elf, names, header.sh_name) :
					    NULL;
		Elf_Data *data = found && !strcmp(found, name) &&
						 !(header.sh_flags & SHF_COMPRESSED) ?
					 elf_rawdata(section, NULL) :
					 NULL;

		if (!data || !data->d_buf)
			continue;
		*ret_size = data->d_size;
		return data->d_buf;
	}
	return NULL;
}

/* The section from that base on, which an attribute of the skeleton gives. */
static const __u8 *section_from(Dwarf_Die *skeleton, const char *name, unsigned attribute,
				unsigned gnu_attribute, size_t *ret_size)
{
	const __u8 *all = section_of(dwarf_getelf(dwarf_cu_getdwarf(skeleton->cu)), name, ret_size);
	Dwarf_Attribute at;
	Dwarf_Word base = 0;

	if ((dwarf_attr(skeleton, attribute, &at) || dwarf_attr(skeleton, gnu_attribute, &at)) &&
	    dwarf_formudata(&at, &base))
		return NULL;
	if (!all || base > *ret_size)
		return NULL;
	*ret_size -= base;
	return all + base;
}

void dwarf_numbers_begin(struct dwarf_numbers *n, Dwarf_Die *skeleton)
{
	Dwarf_Half version = 0;

	*n = (struct dwarf_numbers){ 0 };
	dwarf_cu_info(skeleton->cu, &version, NULL, NULL, NULL, NULL, NULL, NULL);
	n->version = version;
	if (dwarf_lowpc(skeleton, &n->base))
		n->base = 0;
	n->addresses = section_from(skeleton, ".debug_addr", DW_AT_addr_base, DW_AT_GNU_addr_base,
				    &n->addresses_size);
	if (version < 5)
		n->lists = section_from(skeleton, ".debug_ranges", DW_AT_GNU_ranges_base,
					DW_AT_GNU_ranges_base, &n->lists_size);
}

static bool address_at(const struct dwarf_numbers *n, __u64 number, Dwarf_Addr *ret)
{
	if (!n->addresses || number >= n->addresses_size / sizeof(*ret))
		return false;
	memcpy(ret, n->addresses + number * sizeof(*ret), sizeof(*ret));
	return true;
}

/* ---- attributes -------------------------------------------------------------------------------- */

/*
 * libdw has located the attribute within its unit, but not checked its value: reading a truncated
 * number stops at the end of the unit's image.
 */
static bool number_of(const Dwarf_Attribute *at, unsigned size, __u64 *ret)
{
	struct cursor c = { at->valp, at->valp + (size ? size : 10), false };

	*ret = size ? take_bytes(&c, size) : take_uleb(&c);
	return !c.over;
}

bool dwarf_number_of_text(const Dwarf_Attribute *at, __u64 *ret)
{
	switch (at->form) {
	case DW_FORM_strx:
	case DW_FORM_GNU_str_index:
		return number_of(at, 0, ret);
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
		return number_of(at, at->form - DW_FORM_strx1 + 1, ret);
	default:
		return false;
	}
}

static bool number_of_address(const Dwarf_Attribute *at, __u64 *ret)
{
	switch (at->form) {
	case DW_FORM_addrx:
	case DW_FORM_GNU_addr_index:
		return number_of(at, 0, ret);
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
		return number_of(at, at->form - DW_FORM_addrx1 + 1, ret);
	default:
		return false;
	}
}

/* ---- ranges ------------------------------------------------------------------------------------ */

typedef int (*piece_fn)(void *ctx, Dwarf_Addr start, Dwarf_Addr end);

/* One DW_RLE_* entry, after its kind. False: the list is over. */
static bool take_piece(const struct dwarf_numbers *n, struct cursor *c, unsigned kind,
		       Dwarf_Addr *base, Dwarf_Addr *start, Dwarf_Addr *end)
{
	*start = *end = 0;
	switch (kind) {
	case DW_RLE_base_addressx:
		return address_at(n, take_uleb(c), base) && !c->over;
	case DW_RLE_startx_endx:
		return address_at(n, take_uleb(c), start) && address_at(n, take_uleb(c), end) &&
		       !c->over;
	case DW_RLE_startx_length:
		if (!address_at(n, take_uleb(c), start))
			return false;
		*end = *start + take_uleb(c);
		return !c->over;
	case DW_RLE_offset_pair:
		*start = *base + take_uleb(c);
		*end = *base + take_uleb(c);
		return !c->over;
	case DW_RLE_base_address:
		*base = take_bytes(c, sizeof(*base));
		return !c->over;
	case DW_RLE_start_end:
		*start = take_bytes(c, sizeof(*start));
		*end = take_bytes(c, sizeof(*end));
		return !c->over;
	case DW_RLE_start_length:
		*start = take_bytes(c, sizeof(*start));
		*end = *start + take_uleb(c);
		return !c->over;
	default:
		return false;
	}
}

/* Version 4 has pairs: relative to the base, or ~0 and a new base; two zeros end the list. */
static bool take_pair(struct cursor *c, Dwarf_Addr *base, Dwarf_Addr *start, Dwarf_Addr *end)
{
	*start = take_bytes(c, sizeof(*start));
	*end = take_bytes(c, sizeof(*end));
	if (c->over || (!*start && !*end))
		return false;
	if (*start == ~0ULL) {
		*base = *end;
		*start = *end = 0;
		return true;
	}
	*start += *base;
	*end += *base;
	return true;
}

static int list_pieces(const struct dwarf_numbers *n, __u64 offset, piece_fn fn, void *ctx)
{
	struct cursor c = { n->lists, n->lists + n->lists_size, false };
	Dwarf_Addr base = n->base, start, end;
	int err = 0;

	if (!n->lists || offset >= n->lists_size)
		return 0;
	c.at += offset;
	for (unsigned i = 0; i < DWARF_PIECES_MAX && !err; i++) {
		bool more = n->version < 5 ? take_pair(&c, &base, &start, &end) :
					     take_piece(n, &c, (unsigned)take_bytes(&c, 1), &base,
							&start, &end);

		if (!more)
			break;
		if (start < end)
			err = fn(ctx, start, end);
	}
	return err;
}

/*
 * The header of a table of lists: length, version, sizes, number of offsets, which are relative to
 * the end of the header.
 */
#define LISTS_HEADER 12U

/*
 * Where a list begins, from its number or its offset. libdw would look for a section that the
 * unit's image lacks.
 */
static bool list_of(const struct dwarf_numbers *n, const Dwarf_Attribute *at, __u64 *ret)
{
	__u32 offset;
	__u64 number;

	if (at->form == DW_FORM_sec_offset)
		return number_of(at, sizeof(offset), ret);
	if (at->form != DW_FORM_rnglistx || !number_of(at, 0, &number) ||
	    n->lists_size < LISTS_HEADER ||
	    number >= (n->lists_size - LISTS_HEADER) / sizeof(offset))
		return false;
	memcpy(&offset, n->lists + LISTS_HEADER + number * sizeof(offset), sizeof(offset));
	*ret = LISTS_HEADER + (__u64)offset;
	return true;
}

/* A single range: from the first to the last address, or with a length. */
static bool whole_piece(const struct dwarf_numbers *n, Dwarf_Die *die, Dwarf_Addr *start,
			Dwarf_Addr *end)
{
	Dwarf_Attribute at;
	Dwarf_Word length;
	__u64 number;

	if (!dwarf_attr(die, DW_AT_low_pc, &at) || !number_of_address(&at, &number) ||
	    !address_at(n, number, start) || !dwarf_attr(die, DW_AT_high_pc, &at))
		return false;
	if (number_of_address(&at, &number))
		return address_at(n, number, end);
	if (dwarf_formudata(&at, &length))
		return false;
	*end = *start + length;
	return true;
}

int dwarf_numbers_pieces(const struct dwarf_numbers *n, Dwarf_Die *die, piece_fn fn, void *ctx)
{
	Dwarf_Addr start, end;
	Dwarf_Attribute at;
	__u64 offset;

	if (whole_piece(n, die, &start, &end))
		return start < end ? fn(ctx, start, end) : 0;
	if (!dwarf_attr(die, DW_AT_ranges, &at) || !list_of(n, &at, &offset))
		return 0;
	return list_pieces(n, offset, fn, ctx);
}
