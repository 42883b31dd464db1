/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/keep/line_rows.h"

/* Objects/codeobject.c of CPython defines the forms. */
#define FORM_NO_COLUMNS 13U
#define FORM_LONG 14U
#define FORM_NONE 15U
#define UNITS_MAX 8U

void line_rows_init(struct line_rows *r, int first_line)
{
	r->at = first_line;
	r->cnt = 0;
}

static void put_varint(struct bytes *b, __u32 value)
{
	for (; value >= 64; value >>= 6)
		bytes_u8(b, (__u8)((value & 63) | 64));
	bytes_u8(b, (__u8)value);
}

static void put_delta(struct line_rows *r)
{
	__s64 delta = (__s64)r->line - r->at;
	__u64 size = (__u64)(delta < 0 ? -delta : delta);

	put_varint(&r->bytes, (__u32)(size << 1 | (delta < 0)));
	r->at = r->line;
}

static void put_entry(struct line_rows *r)
{
	__u32 form = r->line <= 0 ? FORM_NONE : r->column < 0 ? FORM_NO_COLUMNS : FORM_LONG;

	if (!r->cnt)
		return;
	bytes_u8(&r->bytes, (__u8)(0x80 | form << 3 | (r->cnt - 1)));
	if (form != FORM_NONE)
		put_delta(r);
	if (form == FORM_LONG) {
		put_varint(&r->bytes, 0); /* it ends on the same line */
		put_varint(&r->bytes, (__u32)r->column + 1);
		put_varint(&r->bytes, (__u32)(r->end_column + 1));
	}
	r->cnt = 0;
}

void line_rows_add(struct line_rows *r, int line, int column, int end_column)
{
	if (r->cnt && (r->cnt == UNITS_MAX || line != r->line || column != r->column ||
		       end_column != r->end_column))
		put_entry(r);
	r->line = line;
	r->column = column;
	r->end_column = end_column;
	r->cnt++;
}

void line_rows_end(struct line_rows *r)
{
	put_entry(r);
}
