/* SPDX-License-Identifier: BSD-2-Clause */
#include "unwind/elf_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "target/elf_file.h"
#include "unwind/eh_frame.h"

/* Of a file: its own, that of before BOLT, and .debug_frame. */
#define SECTIONS_MAX 8

struct work {
	struct elf_file *file;
	struct eh_frame frame;
	struct eh_section sections[SECTIONS_MAX];
	__u8 *data[SECTIONS_MAX];
	unsigned cnt;
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

/* All sections of a name that are in the file as they are. */
static int take_named(struct work *w, const char *name, bool is_debug_frame)
{
	Elf64_Shdr names, s;

	if (elf_file_section(w->file, w->file->ehdr.e_shstrndx, &names))
		return 0;
	for (unsigned i = 0; i < w->file->ehdr.e_shnum; i++) {
		unsigned before = w->cnt;
		int err;

		if (elf_file_section(w->file, i, &s))
			return 0;
		if (s.sh_type == SHT_NOBITS || s.sh_flags & SHF_COMPRESSED ||
		    !elf_file_string_is(w->file, names.sh_offset + s.sh_name, name))
			continue;
		err = read_section(w, s.sh_offset, s.sh_size, s.sh_addr);
		if (err)
			return err;
		if (w->cnt > before)
			w->sections[before].is_debug_frame = is_debug_frame;
	}
	return 0;
}

/* Without section headers: the table for searching begins with a pointer to .eh_frame. */
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

static int take_sections(struct work *w)
{
	int err = take_named(w, ".eh_frame", false);

	if (!err && !w->cnt)
		err = take_by_header(w);
	if (!err)
		err = take_named(w, ".bolt.org.eh_frame", false);
	if (!err && !w->cnt)
		err = take_named(w, ".debug_frame", true);
	if (!err && !w->cnt)
		err = -ENODATA;
	for (unsigned i = 0; !err && i < w->cnt; i++)
		err = eh_frame_add(&w->frame, &w->sections[i]);
	return err;
}

/* ---- functions in the order of offsets ---------------------------------------------------------- */

/* Addresses become offsets; what the file has not is left out. */
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

static int compare(const void *a, const void *b)
{
	const struct eh_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static void sort(struct eh_frame *f)
{
	for (__u32 i = 1; i < f->entry_cnt; i++) {
		if (f->entries[i].start < f->entries[i - 1].start) {
			qsort(f->entries, f->entry_cnt, sizeof(*f->entries), compare);
			return;
		}
	}
}

/* One function's rows, from offset from on. */
static void put_function(struct eh_frame *f, const struct eh_entry *e, __u64 from,
			 struct row_table *t)
{
	const struct cfi_common *common = &f->commons[e->common];
	struct cfi_cursor c = { .pos = e->code, .end = e->code + e->code_size };
	struct cfi_machine m;
	struct unwind_rule rule;
	enum cfi_step step;

	cfi_begin(&m, common, e->start, &f->budget);
	do {
		__u64 begin = m.pc;
		struct cfi_state held;

		/* The state changes up to the next step of pc, and holds from here to there. */
		step = cfi_run(&m, &c);
		held = m.state;
		if (step == CFI_BAD || m.pc < begin) {
			row_table_put_none(t, begin > from ? begin : from);
			return;
		}
		if (step == CFI_ADVANCED && m.pc <= from)
			continue;
		rule = cfi_rule(&held, common->signal);
		row_table_put(t, begin > from ? begin : from, &rule);
	} while (step == CFI_ADVANCED && m.pc < e->end);
}

static void put_all(struct eh_frame *f, struct row_table *t)
{
	__u64 end = 0;

	for (__u32 i = 0; i < f->entry_cnt && !t->err; i++) {
		const struct eh_entry *e = &f->entries[i];

		if (e->end <= end)
			continue;
		if (e->start > end && t->rule_cnt)
			row_table_put_none(t, end);
		put_function(f, e, e->start > end ? e->start : end, t);
		end = e->end;
	}
	if (t->rule_cnt)
		row_table_put_none(t, end);
}

/* ---- files ------------------------------------------------------------------------------------ */

static int make_rows(struct elf_file *file, struct row_table *ret)
{
	struct work w = { .file = file };
	int err;

	memset(ret, 0, sizeof(*ret));
	eh_frame_init(&w.frame);
	err = take_sections(&w);
	if (!err) {
		make_offsets(&w);
		sort(&w.frame);
		put_all(&w.frame, ret);
		err = row_table_end(ret);
	}
	if (err)
		row_table_free(ret);
	eh_frame_free(&w.frame);
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
