/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/rows/elf_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/elf/elf_file.h"
#include "native/rows/eh_frame.h"
#include "native/rows/eh_rows.h"
#include "base/data/vec.h"

/* Per file: its own, the one from before BOLT, and .debug_frame. */
#define SECTIONS_MAX 8

/* Sections of code: linkers make about 5. */

struct code {
	__u64 start, end; /* offsets in the file */
};

struct work {
	struct elf_file *file;
	struct code *codes; /* in no order */
	__u32 code_cnt, code_cap;
	struct eh_frame frame;
	struct eh_section sections[SECTIONS_MAX];
	__u8 *data[SECTIONS_MAX];
	unsigned cnt;
	__u8 *hole; /* the code last read */
	__u32 hole_cap, hole_bytes;
};

/* ---- sections --------------------------------------------------------------------------------- */

static int read_section(struct work *w, __u64 offset, __u64 size, __u64 address)
{
	struct eh_section *s = &w->sections[w->cnt];
	int err;

	if (!size || w->cnt == SECTIONS_MAX)
		return 0;
	if (size > ELF_ROWS_SECTION_MAX)
		return -E2BIG;
	w->data[w->cnt] = malloc(size);
	if (!w->data[w->cnt])
		return -ENOMEM;
	err = elf_file_read(w->file, offset, w->data[w->cnt], size);
	if (err) {
		free(w->data[w->cnt]);
		return err;
	}
	*s = (struct eh_section){ .data = w->data[w->cnt], .size = size, .address = address };
	w->cnt++;
	return 0;
}

/* Takes all uncompressed sections with that name. */
static int take_named(struct work *w, const char *name, bool is_debug_frame)
{
	Elf64_Shdr s;
	unsigned i = 0;

	while (!elf_file_section_named(w->file, name, &i, &s)) {
		unsigned before = w->cnt;
		int err;

		if (s.sh_type == SHT_NOBITS || s.sh_flags & SHF_COMPRESSED)
			continue;
		err = read_section(w, s.sh_offset, s.sh_size, s.sh_addr);
		if (err)
			return err;
		if (w->cnt > before)
			w->sections[before].is_debug_frame = is_debug_frame;
	}
	return 0;
}

/* Without section headers: the search table begins with a pointer to .eh_frame. */
static int take_by_header(struct work *w)
{
	const Elf64_Phdr *p = w->file->phdrs;
	__u64 address, offset, size;
	__u8 head[16] = { 0 };

	for (unsigned i = 0; i < w->file->phdr_cnt; i++) {
		const struct eh_section s = { .data = head, .address = p[i].p_vaddr };
		struct cfi_cursor c = { .pos = head + 4, .end = head + sizeof(head) };
		int err;

		if (p[i].p_type != PT_GNU_EH_FRAME ||
		    elf_file_read_vaddr(w->file, p[i].p_vaddr, head, 12) || head[0] != 1 ||
		    !eh_frame_pointer(&c, head[1], &s, &address) ||
		    !elf_file_offset(w->file, address, &offset, &size))
			continue;
		if (size > ELF_ROWS_SECTION_MAX)
			size = ELF_ROWS_SECTION_MAX;
		err = read_section(w, offset, size, address);
		if (!err && w->cnt)
			w->sections[w->cnt - 1].ends_at_zero = true;
		return err;
	}
	return 0;
}

static int add_sections(struct work *w, unsigned from)
{
	int err = 0;

	for (unsigned i = from; !err && i < w->cnt; i++)
		err = eh_frame_add(&w->frame, &w->sections[i]);
	return err;
}

/*
 * C compiled without .eh_frame may have this section, while the C library's start files have
 * .eh_frame. If it is too large, .eh_frame alone is used.
 */
static int add_debug_frame(struct work *w)
{
	unsigned before = w->cnt;
	int err = take_named(w, ".debug_frame", true);

	if (!err)
		err = add_sections(w, before);
	return before ? 0 : err;
}

/* Bytes of a file without tables whose code is read: of larger ones, all compiled so, most keep frame pointers. */
#define BARE_MAX (64U << 10)

static int take_sections(struct work *w)
{
	int err = take_named(w, ".eh_frame", false);

	if (!err && !w->cnt)
		err = take_by_header(w);
	if (!err)
		err = take_named(w, ".bolt.org.eh_frame", false);
	if (!err)
		err = add_sections(w, 0);
	if (!err)
		err = add_debug_frame(w);
	/* A small file without any, as arm64's vdso, is read like the holes of others. */
	return err || w->cnt || w->file->size <= BARE_MAX ? err : -ENODATA;
}

/* ---- functions -------------------------------------------------------------------------------- */

/* Converts addresses to offsets; drops what is not in the file. */
static void make_offsets(struct work *w)
{
	struct eh_entry *list = w->frame.entries;
	__u32 kept = 0;

	for (__u32 i = 0; i < w->frame.entry_cnt; i++) {
		struct eh_entry e = list[i];
		const Elf64_Phdr *p = elf_file_segment(w->file, e.start);
		__u64 at;

		if (!p || !(p->p_flags & PF_X))
			continue;
		at = e.start - p->p_vaddr;
		if (at >= p->p_filesz || p->p_filesz > w->file->size ||
		    p->p_offset > w->file->size - p->p_filesz)
			continue;
		if (e.end - e.start > p->p_filesz - at)
			e.end = e.start + (p->p_filesz - at);
		e.end = e.end - e.start + p->p_offset + at;
		e.start = p->p_offset + at;
		list[kept++] = e;
	}
	w->frame.entry_cnt = kept;
}

/* ---- code without functions ---------------------------------------------------------------------- */

/* Code without unwind information: limits for all of it, and for one piece. */
#define HOLE_BYTES_MAX (8U << 20)
#define HOLES_BYTES_MAX (32U << 20)

static void add_code(struct work *w, __u64 offset, __u64 size)
{
	if (size && size <= w->file->size && offset <= w->file->size - size &&
	    !vec_reserve(w->codes, w->code_cap, w->code_cnt + 1))
		w->codes[w->code_cnt++] = (struct code){ offset, offset + size };
}

/*
 * Sections of code, or else segments. Older linkers put data, which must not be read as if it were
 * code, into the same segment: as much as there is code.
 */
static void find_codes(struct work *w)
{
	Elf64_Shdr s;

	for (unsigned i = 0; i < w->file->ehdr.e_shnum && !elf_file_section(w->file, i, &s); i++)
		if (s.sh_type == SHT_PROGBITS && s.sh_flags & SHF_EXECINSTR)
			add_code(w, s.sh_offset, s.sh_size);
	for (unsigned i = 0; i < w->file->phdr_cnt && !w->code_cnt; i++) {
		const Elf64_Phdr *p = &w->file->phdrs[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X)
			add_code(w, p->p_offset, p->p_filesz);
	}
}

static int next_code(void *ctx, __u64 offset, __u64 *ret_start, __u64 *ret_end)
{
	const struct work *w = ctx;
	int result = -1;

	for (unsigned i = 0; i < w->code_cnt; i++) {
		const struct code *c = &w->codes[i];

		if (c->end <= offset || (!result && c->start >= *ret_start))
			continue;
		*ret_start = c->start;
		*ret_end = c->end;
		result = 0;
	}
	return result;
}

static const __u8 *read_hole(void *ctx, __u64 offset, __u64 size, __u64 *ret_len)
{
	struct work *w = ctx;

	if (size > HOLE_BYTES_MAX)
		size = HOLE_BYTES_MAX;
	if (size > HOLES_BYTES_MAX - w->hole_bytes)
		return NULL;
	w->hole_bytes += (__u32)size;
	if (vec_reserve(w->hole, w->hole_cap, size) ||
	    elf_file_read(w->file, offset, w->hole, size))
		return NULL;
	*ret_len = size;
	return w->hole;
}

/* ---- files ------------------------------------------------------------------------------------ */

static int make_rows(struct elf_file *file, struct row_table *ret)
{
	struct work w = { .file = file };
	const struct eh_holes holes = { read_hole, next_code, &w };
	int err;

	memset(ret, 0, sizeof(*ret));
	eh_frame_init(&w.frame);
	err = take_sections(&w);
	if (!err) {
		make_offsets(&w);
		find_codes(&w);
		err = eh_rows(&w.frame, &holes, ret);
		if (!err && !w.cnt && !ret->row_cnt)
			err = -ENODATA;
	}
	if (err)
		row_table_free(ret);
	eh_frame_free(&w.frame);
	free(w.hole);
	free(w.codes);
	for (unsigned i = 0; i < w.cnt; i++)
		free(w.data[i]);
	return err;
}

int elf_rows(int fd, struct row_table *ret)
{
	struct elf_file file;
	int err = elf_file_init(&file, fd);

	return err ? err : make_rows(&file, ret);
}
