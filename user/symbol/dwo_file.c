/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/dwo_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cleanup.h"

static const char *const section_names[DWO_SECTION_CNT] = {
	[DWO_INFO] = ".debug_info.dwo",
	[DWO_ABBREV] = ".debug_abbrev.dwo",
	[DWO_STR_OFFSETS] = ".debug_str_offsets.dwo",
	[DWO_RNGLISTS] = ".debug_rnglists.dwo",
	[DWO_STR] = ".debug_str.dwo",
	[DWO_CU_INDEX] = ".debug_cu_index",
};

/* ---- sections --------------------------------------------------------------------------------- */

/* Together with all that were unpacked before. Returns 0, -E2BIG or -errno. */
static int unpack(struct dwo_file *f, unsigned number, Elf_Scn *section)
{
	size_t all = 0;
	GElf_Chdr header;
	Elf_Data *data;

	for (unsigned i = 0; i < DWO_SECTION_CNT; i++)
		all += f->unpacked[i] ? f->sections[i].size : 0;
	if (!gelf_getchdr(section, &header))
		return -ENOEXEC;
	if (header.ch_size > DWO_UNPACKED_MAX - all)
		return -E2BIG;
	data = elf_compress(section, 0, 0) < 0 ? NULL : elf_rawdata(section, NULL);
	if (!data || !data->d_buf || data->d_size > DWO_UNPACKED_MAX - all)
		return -ENOEXEC;
	/* Without any bytes there must be no copy: another, larger section of that name may follow. */
	if (!data->d_size)
		return 0;
	f->unpacked[number] = malloc(data->d_size);
	if (!f->unpacked[number])
		return -ENOMEM;
	memcpy(f->unpacked[number], data->d_buf, data->d_size);
	f->sections[number] = (struct dwo_piece){ 0, data->d_size };
	return 0;
}

/* The first section of each name counts. */
static int note_section(struct dwo_file *f, Elf_Scn *section, const GElf_Shdr *header,
			const char *name, __u64 file_size)
{
	unsigned i = 0;

	while (i < DWO_SECTION_CNT && strcmp(name, section_names[i]))
		i++;
	if (i == DWO_SECTION_CNT || f->sections[i].size)
		return 0;
	if (header->sh_offset > file_size || header->sh_size > file_size - header->sh_offset)
		return -EBADMSG;
	if (header->sh_flags & SHF_COMPRESSED)
		return unpack(f, i, section);
	f->sections[i] = (struct dwo_piece){ header->sh_offset, header->sh_size };
	return 0;
}

static int read_sections(struct dwo_file *f, Elf *elf, __u64 file_size)
{
	const char *ident = elf_getident(elf, NULL);
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;
	int err = 0;

	/* krait attaches only to programs of its own kind. */
	if (elf_kind(elf) != ELF_K_ELF || !ident || ident[EI_CLASS] != ELFCLASS64 ||
	    ident[EI_DATA] != ELFDATA2LSB || elf_getshdrstrndx(elf, &names))
		return -ENOEXEC;
	while (!err && (section = elf_nextscn(elf, section))) {
		const char *name;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (name)
			err = note_section(f, section, &header, name, file_size);
	}
	if (!err && (!f->sections[DWO_INFO].size || !f->sections[DWO_ABBREV].size))
		err = -ENOEXEC;
	return err;
}

int dwo_file_open(struct dwo_file *ret, int fd)
{
	struct stat st;
	Elf *elf;
	int err;

	*ret = (struct dwo_file){ .fd = -1 };
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return -ENOEXEC;
	ret->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (ret->fd < 0)
		return -errno;
	elf_version(EV_CURRENT);
	elf = elf_begin(ret->fd, ELF_C_READ, NULL);
	err = elf ? read_sections(ret, elf, (__u64)st.st_size) : -ENOEXEC;
	elf_end(elf);
	if (err)
		dwo_file_close(ret);
	return err;
}

void dwo_file_close(struct dwo_file *f)
{
	for (unsigned i = 0; i < DWO_SECTION_CNT; i++)
		free(f->unpacked[i]);
	if (f->fd >= 0)
		close(f->fd);
	*f = (struct dwo_file){ .fd = -1 };
}

static bool is_package(const struct dwo_file *f)
{
	return f->sections[DWO_CU_INDEX].size > 0;
}

int dwo_file_read(const struct dwo_file *f, enum dwo_section section, const struct dwo_piece *piece,
		  __u64 at, void *buf, size_t len)
{
	const struct dwo_piece *all = &f->sections[section];
	ssize_t n;

	if (piece->at > all->size || piece->size > all->size - piece->at || at > piece->size ||
	    len > piece->size - at)
		return -ENODATA;
	if (f->unpacked[section]) {
		memcpy(buf, f->unpacked[section] + piece->at + at, len);
		return 0;
	}
	for (size_t done = 0; done < len; done += (size_t)n) {
		n = pread(f->fd, (char *)buf + done, len - done,
			  (off_t)(all->at + piece->at + at + done));
		if (n <= 0)
			return n ? -errno : -ENODATA;
	}
	return 0;
}

char *dwo_file_text(const struct dwo_file *f, __u64 at, size_t max)
{
	const struct dwo_piece all = { 0, f->sections[DWO_STR].size };
	size_t len = at < all.size ? all.size - at : 0;
	cleanup_free char *text = NULL;

	if (len > max)
		len = max;
	text = len ? malloc(len) : NULL;
	if (!text || dwo_file_read(f, DWO_STR, &all, at, text, len) || !memchr(text, '\0', len))
		return NULL;
	return take_ptr(&text);
}

/* ---- packages --------------------------------------------------------------------------------- */

/*
 * DWARF 5, 7.3.5.3; version 2 is GNU's for DWARF 4. A hash table of ids, a parallel table of row
 * numbers, and tables of offsets and of sizes, with a row for each unit and a column for each kind
 * of section.
 */
struct package_index {
	__u32 version, columns, units, slots;
};

#define COLUMNS_MAX 16U
/* A table is at most two thirds full. */
#define PROBES_MAX 4096U
#define SLOTS_MAX (1U << 30)

static int read_index(const struct dwo_file *f, __u64 at, void *buf, size_t len)
{
	const struct dwo_piece all = { 0, f->sections[DWO_CU_INDEX].size };

	return dwo_file_read(f, DWO_CU_INDEX, &all, at, buf, len);
}

/* The number of the id's row, from 1. 0: none; -errno. */
static int find_row(const struct dwo_file *f, const struct package_index *x, __u64 id)
{
	__u32 mask = x->slots - 1, slot = (__u32)id & mask;
	const __u32 step = ((__u32)(id >> 32) & mask) | 1;

	for (__u32 i = 0; i < PROBES_MAX && i < x->slots; i++, slot = (slot + step) & mask) {
		__u64 found;
		__u32 row;
		int err = read_index(f, sizeof(*x) + slot * sizeof(found), &found, sizeof(found));

		if (!err)
			err = read_index(f,
					 sizeof(*x) + x->slots * sizeof(found) + slot * sizeof(row),
					 &row, sizeof(row));
		if (err)
			return err;
		if (!row || found == id)
			return row <= x->units ? (int)row : -EBADMSG;
	}
	return 0;
}

/* DW_SECT_*: the section that a column describes. DWO_SECTION_CNT: one that nobody reads. */
static enum dwo_section section_of(__u32 version, __u32 kind)
{
	switch (kind) {
	case 1:
		return DWO_INFO;
	case 3:
		return DWO_ABBREV;
	case 6:
		return DWO_STR_OFFSETS;
	case 8:
		/* In version 2 these are macros. */
		return version == 5 ? DWO_RNGLISTS : DWO_SECTION_CNT;
	default:
		return DWO_SECTION_CNT;
	}
}

static int read_row(const struct dwo_file *f, const struct package_index *x, __u32 row,
		    struct dwo_piece ret[DWO_SECTION_CNT])
{
	const size_t width = x->columns * sizeof(__u32);
	const __u64 table = sizeof(*x) + x->slots * (sizeof(__u64) + sizeof(__u32));
	__u32 kinds[COLUMNS_MAX], offsets[COLUMNS_MAX], sizes[COLUMNS_MAX];
	int err = read_index(f, table, kinds, width);

	if (!err)
		err = read_index(f, table + row * width, offsets, width);
	if (!err)
		err = read_index(f, table + ((__u64)x->units + row) * width, sizes, width);
	for (__u32 i = 0; i < x->columns && !err; i++) {
		enum dwo_section section = section_of(x->version, kinds[i]);

		if (section != DWO_SECTION_CNT)
			ret[section] = (struct dwo_piece){ offsets[i], sizes[i] };
	}
	return err;
}

int dwo_file_pieces(const struct dwo_file *f, __u64 id, struct dwo_piece ret[DWO_SECTION_CNT])
{
	struct package_index x;
	int row, err;

	for (unsigned i = 0; i < DWO_SECTION_CNT; i++)
		ret[i] = (struct dwo_piece){ 0, f->sections[i].size };
	if (!is_package(f))
		return 0;
	err = read_index(f, 0, &x, sizeof(x));
	if (err)
		return err;
	x.version &= 0xffff;
	if ((x.version != 2 && x.version != 5) || !x.slots || x.slots & (x.slots - 1) ||
	    x.slots > SLOTS_MAX || x.columns > COLUMNS_MAX || x.units > x.slots)
		return -EBADMSG;
	row = find_row(f, &x, id);
	if (row <= 0)
		return row ? row : -ENOENT;
	ret[DWO_INFO].size = ret[DWO_ABBREV].size = 0;
	ret[DWO_STR_OFFSETS].size = ret[DWO_RNGLISTS].size = 0;
	return read_row(f, &x, (__u32)row, ret);
}
