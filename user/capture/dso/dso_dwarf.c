/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dso_dwarf.c - DWARF 4 for the functions of one generation.
 *
 * There is a compilation unit for each run of functions from one file, because units must be
 * contiguous and functions come in the order in which they were first seen; and a sequence of line
 * rows for each function.
 *
 * Lines and columns are those of co_positions(); DWARF counts columns from 1 and uses 0 for unknown
 * columns and lines. The name is the qualified name, the linkage name that of the symbol.
 */
#include "capture/dso/dso_text.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "python/code/linetable.h"
#include "base/data/cleanup.h"
#include "base/text/printable.h"

enum abbrev { ABBREV_UNIT = 1, ABBREV_FUNCTION, ABBREV_KEPT_UNIT };

#define ADDRESS_SIZE 8

/* A run of functions from one file. */
struct unit {
	__u32 file; /* string id of the profile */
	const char *folder; /* in which its lines are kept; NULL: in none */
	const struct dso_function *first, *last;
};

static __u32 function_file(const struct dict *dict, const struct dso_function *f)
{
	if (f->code)
		return dict__code_at(dict, f->code)->file;
	return dict__frame_at(dict, f->frame)->file;
}

static bool is_kept(const struct dict *dict, const struct dso_function *f)
{
	return f->code && dict__code_at(dict, f->code)->kept;
}

#define UNIT_BEGIN                                                                                 \
	DW_TAG_compile_unit, DW_CHILDREN_yes, DW_AT_producer, DW_FORM_string, DW_AT_language,      \
		DW_FORM_data1
#define UNIT_END                                                                                   \
	DW_AT_name, DW_FORM_string, DW_AT_stmt_list, DW_FORM_sec_offset, DW_AT_low_pc,             \
		DW_FORM_addr, DW_AT_high_pc, DW_FORM_data8, 0, 0

static void put_abbrevs(struct bytes *b)
{
	static const __u8 abbrevs[] = {
		/* clang-format off */
		ABBREV_UNIT, UNIT_BEGIN, UNIT_END,
		ABBREV_FUNCTION, DW_TAG_subprogram, DW_CHILDREN_no,
		DW_AT_name, DW_FORM_string,
		DW_AT_linkage_name, DW_FORM_string,
		DW_AT_decl_file, DW_FORM_data1,
		DW_AT_decl_line, DW_FORM_udata,
		DW_AT_low_pc, DW_FORM_addr,
		DW_AT_high_pc, DW_FORM_data8,
		DW_AT_external, DW_FORM_flag_present,
		0, 0,
		ABBREV_KEPT_UNIT, UNIT_BEGIN, DW_AT_comp_dir, DW_FORM_string, UNIT_END,
		0,
		/* clang-format on */
	};

	bytes_put(b, abbrevs, sizeof(abbrevs));
}

static int put_function(struct bytes *b, const struct dict *dict, const struct dso_function *f)
{
	const struct profile_code *code = dict__code_at(dict, f->code);
	const struct profile_frame *frame = dict__frame_at(dict, f->frame);
	int first_line = f->code ? code->first_line : frame->first_line;
	cleanup_free char *name = printable(dict__text(dict, f->code ? code->name : frame->name));
	cleanup_free char *symbol = dso_symbol(dict, f);

	if (!name || !symbol)
		return -ENOMEM;
	bytes_uleb(b, ABBREV_FUNCTION);
	bytes_text(b, name);
	bytes_text(b, symbol);
	bytes_u8(b, 1);
	bytes_uleb(b, first_line > 0 ? (__u64)first_line : 0);
	bytes_u64(b, f->offset);
	bytes_u64(b, (__u64)f->slot_cnt * DSO_SLOT);
	return 0;
}

static int put_info(struct dwarf *w, const struct dict *dict, const struct unit *u,
		    const char *file, size_t line_offset)
{
	struct bytes *b = &w->info;
	size_t start = b->len;
	__u64 end = u->last->offset + (__u64)u->last->slot_cnt * DSO_SLOT;
	int err = 0;

	bytes_u32(b, 0);
	bytes_u16(b, 4);
	bytes_u32(b, 0);
	bytes_u8(b, ADDRESS_SIZE);
	bytes_uleb(b, u->folder ? ABBREV_KEPT_UNIT : ABBREV_UNIT);
	bytes_text(b, "krait " KRAIT_VERSION);
	bytes_u8(b, DW_LANG_Python);
	if (u->folder)
		bytes_text(b, u->folder);
	bytes_text(b, file);
	bytes_u32(b, (__u32)line_offset);
	bytes_u64(b, u->first->offset);
	bytes_u64(b, end - u->first->offset);
	for (const struct dso_function *f = u->first; f <= u->last && !err; f++)
		err = put_function(b, dict, f);
	bytes_uleb(b, 0);
	bytes_patch_u32(b, start, (__u32)(b->len - start - 4));

	b = &w->aranges;
	bytes_u32(b, 2 + 4 + 1 + 1 + 4 + 4 * ADDRESS_SIZE);
	bytes_u16(b, 2);
	bytes_u32(b, (__u32)start);
	bytes_u8(b, ADDRESS_SIZE);
	bytes_u8(b, 0);
	bytes_u32(b, 0);
	bytes_u64(b, u->first->offset);
	bytes_u64(b, end - u->first->offset);
	bytes_u64(b, 0);
	bytes_u64(b, 0);
	return err;
}

/* The used part of the line number program's state. */
struct line_state {
	struct bytes *b;
	__u32 unit;
	int line, column, end_column;
	bool started;
};

/*
 * elfutils (and so perf) rejects all lines of a file that has larger numbers, so anything beyond is
 * unknown.
 */
#define COLUMN_MAX 0xffff
#define ISA_MAX 0xff

/* end_column is stored as the instruction set, which has no other use here, and no reader shows it. */
static void put_row(struct line_state *s, __u32 unit, int line, int column, int end_column)
{
	line = line > 0 ? line : 0;
	column = column >= 0 && column < COLUMN_MAX && line ? column + 1 : 0;
	end_column = end_column >= 0 && end_column < ISA_MAX && column ? end_column + 1 : 0;
	if (s->started && s->line == line && s->column == column && s->end_column == end_column)
		return;
	if (unit != s->unit) {
		bytes_u8(s->b, DW_LNS_advance_pc);
		bytes_uleb(s->b, (unit - s->unit) * DSO_SLOT);
	}
	if (line != s->line) {
		bytes_u8(s->b, DW_LNS_advance_line);
		bytes_sleb(s->b, (__s64)line - s->line);
	}
	if (column != s->column) {
		bytes_u8(s->b, DW_LNS_set_column);
		bytes_uleb(s->b, (__u64)column);
	}
	if (end_column != s->end_column) {
		bytes_u8(s->b, DW_LNS_set_isa);
		bytes_uleb(s->b, (__u64)end_column);
	}
	bytes_u8(s->b, DW_LNS_copy);
	*s = (struct line_state){ s->b, unit, line, column, end_column, true };
}

static void put_code_rows(struct line_state *s, const struct profile_code *code, __u32 unit_cnt)
{
	struct linetable_entry entry;
	struct linetable_cursor c;

	linetable_cursor_init(&c, code->lines, code->lines_size, code->first_line);
	while (linetable_next(&c, &entry) && entry.unit < unit_cnt)
		put_row(s, entry.unit, entry.position.line, entry.position.column,
			entry.position.end_line == entry.position.line ? entry.position.end_column :
									 -1);
	if (c.unit < unit_cnt)
		put_row(s, c.unit, 0, 0, -1);
	put_row(s, unit_cnt, code->first_line, -1, -1);
	put_row(s, unit_cnt + 1, 0, -1, -1);
}

static void put_sequence(struct bytes *b, const struct dict *dict, const struct dso_function *f)
{
	const struct profile_frame *frame = dict__frame_at(dict, f->frame);
	struct line_state s = { .b = b, .line = 1 };

	bytes_u8(b, 0);
	bytes_uleb(b, 1 + ADDRESS_SIZE);
	bytes_u8(b, DW_LNE_set_address);
	bytes_u64(b, f->offset);
	if (f->code)
		put_code_rows(&s, dict__code_at(dict, f->code), f->slot_cnt - 2);
	else
		put_row(&s, 0, frame->line, frame->column, frame->end_column);
	bytes_u8(b, DW_LNS_advance_pc);
	bytes_uleb(b, (f->slot_cnt - s.unit) * DSO_SLOT);
	bytes_u8(b, 0);
	bytes_uleb(b, 1);
	bytes_u8(b, DW_LNE_end_sequence);
}

static void put_lines(struct bytes *b, const struct dict *dict, const struct unit *u,
		      const char *file)
{
	static const __u8 opcode_lengths[] = { 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 };
	size_t start = b->len, header;

	bytes_u32(b, 0);
	bytes_u16(b, 4);
	header = b->len;
	bytes_u32(b, 0);
	bytes_u8(b, 1); /* min_inst_length */
	bytes_u8(b, 1); /* max_ops */
	bytes_u8(b, 1); /* default_is_stmt */
	bytes_u8(b, (__u8)-5); /* line_base */
	bytes_u8(b, 14); /* line_range */
	bytes_u8(b, 1 + sizeof(opcode_lengths));
	bytes_put(b, opcode_lengths, sizeof(opcode_lengths));
	bytes_u8(b, 0); /* no directories */
	bytes_text(b, file);
	bytes_uleb(b, 0);
	bytes_uleb(b, 0);
	bytes_uleb(b, 0);
	bytes_u8(b, 0);
	bytes_patch_u32(b, header, (__u32)(b->len - header - 4));
	for (const struct dso_function *f = u->first; f <= u->last; f++)
		put_sequence(b, dict, f);
	bytes_patch_u32(b, start, (__u32)(b->len - start - 4));
}

static int put_unit(struct dwarf *w, const struct dict *dict, const struct unit *u)
{
	cleanup_free char *path = printable(dict__text(dict, u->file)), *file = NULL;
	size_t line_offset = w->line.len;

	if (!path || asprintf(&file, "%s%s", u->folder ? DSO_KEPT_PREFIX : "", path) < 0)
		return -ENOMEM;
	put_lines(&w->line, dict, u, file);
	return put_info(w, dict, u, file, line_offset);
}

int dwarf_build(struct dwarf *ret, const struct dso *d, __u32 generation, const struct dict *dict)
{
	struct dwarf w = { 0 };
	__u32 cnt, i, next;
	const struct dso_function *functions = dso__functions(d, generation, &cnt);
	int err = 0;

	put_abbrevs(&w.abbrev);
	for (i = 0; i < cnt && !err; i = next) {
		struct unit u = { .file = function_file(dict, &functions[i]),
				  .first = &functions[i],
				  .folder = is_kept(dict, &functions[i]) ? dso__sources(d) : NULL };

		for (next = i + 1; next < cnt; next++)
			if (function_file(dict, &functions[next]) != u.file ||
			    is_kept(dict, &functions[next]) != is_kept(dict, u.first))
				break;
		u.last = &functions[next - 1];
		if (u.file)
			err = put_unit(&w, dict, &u);
	}
	if (w.info.failed || w.abbrev.failed || w.line.failed || w.aranges.failed)
		err = -ENOMEM;
	if (err)
		dwarf_free(&w);
	else
		*ret = w;
	return err;
}

void dwarf_free(struct dwarf *w)
{
	bytes_free(&w->info);
	bytes_free(&w->abbrev);
	bytes_free(&w->line);
	bytes_free(&w->aranges);
}
