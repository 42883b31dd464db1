/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * linetable.c - decoder and index; see linetable.h.
 *
 * An entry's first byte has bit 7 set, the form in bits 6..3 and the number of units minus one in
 * bits 2..0. InternalDocs/code_objects.md of CPython describes the forms.
 */
#include "python/code/linetable.h"
#include "base/data/search.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

enum form {
	/* 0..9: same line, column = form * 8 + high nibble, width in the low one. */
	FORM_ONE_LINE0 = 10, /* 10..12: line + 0..2, a byte for each column */
	FORM_ONE_LINE2 = 12,
	FORM_NO_COLUMNS = 13,
	FORM_LONG = 14,
	FORM_NONE = 15,
};

static const struct source_position UNKNOWN = { -1, -1, -1, -1 };

void linetable_cursor_init(struct linetable_cursor *c, const __u8 *bytes, __u32 size,
			   int first_line)
{
	*c = (struct linetable_cursor){ .bytes = bytes, .size = size, .line = first_line };
}

static bool read_byte(struct linetable_cursor *c, __u32 *ret)
{
	if (c->offset >= c->size)
		return false;
	*ret = c->bytes[c->offset++];
	return true;
}

/* 6 bits per byte, least significant first; bit 6: more follows. At most 32 bits. */
static bool read_varint(struct linetable_cursor *c, __u32 *ret)
{
	__u64 value = 0;

	for (unsigned int shift = 0; shift <= 30; shift += 6) {
		__u32 byte;

		if (!read_byte(c, &byte))
			return false;
		value |= (__u64)(byte & 63) << shift;
		if (value > UINT_MAX)
			return false;
		if (!(byte & 64)) {
			*ret = (__u32)value;
			return true;
		}
	}
	return false;
}

/* Bit 0 is the sign. */
static bool read_line_delta(struct linetable_cursor *c)
{
	__u32 value;

	if (!read_varint(c, &value))
		return false;
	c->line += value & 1 ? -(__s64)(value >> 1) : (__s64)(value >> 1);
	return true;
}

static int to_int(__s64 value)
{
	return value < INT_MIN || value > INT_MAX ? -1 : (int)value;
}

static bool read_long(struct linetable_cursor *c, struct source_position *p)
{
	__u32 lines, column, end_column;

	if (!read_line_delta(c) || !read_varint(c, &lines) || !read_varint(c, &column) ||
	    !read_varint(c, &end_column))
		return false;
	p->line = to_int(c->line);
	p->end_line = to_int(c->line + lines);
	p->column = to_int((__s64)column - 1);
	p->end_column = to_int((__s64)end_column - 1);
	return true;
}

static bool read_columns(struct linetable_cursor *c, struct source_position *p)
{
	__u32 column, end_column;

	if (!read_byte(c, &column) || !read_byte(c, &end_column))
		return false;
	p->column = (int)column;
	p->end_column = (int)end_column;
	return true;
}

static bool read_position(struct linetable_cursor *c, __u32 form, struct source_position *p)
{
	__u32 byte;

	*p = UNKNOWN;
	switch (form) {
	case FORM_NONE:
		return true;
	case FORM_LONG:
		return read_long(c, p);
	case FORM_NO_COLUMNS:
		if (!read_line_delta(c))
			return false;
		break;
	case FORM_ONE_LINE0 ... FORM_ONE_LINE2:
		if (!read_columns(c, p))
			return false;
		c->line += form - FORM_ONE_LINE0;
		break;
	default:
		if (!read_byte(c, &byte))
			return false;
		p->column = (int)(form << 3 | byte >> 4);
		p->end_column = p->column + (int)(byte & 15);
	}
	p->line = p->end_line = to_int(c->line);
	return true;
}

bool linetable_next(struct linetable_cursor *c, struct linetable_entry *ret_entry)
{
	struct linetable_cursor next = *c;
	struct source_position position;
	__u32 head;

	if (!read_byte(&next, &head) || !(head & 0x80) || next.unit > UINT_MAX - 8)
		return false;
	if (!read_position(&next, head >> 3 & 15, &position))
		return false;
	next.unit += (head & 7) + 1;
	*ret_entry = (struct linetable_entry){ c->unit, next.unit, position };
	*c = next;
	return true;
}

/* An entry takes at least a byte, so there are at most size / LINETABLE_STRIDE marks. */
static int add_marks(struct linetable *t)
{
	__u32 cap = t->size / LINETABLE_STRIDE;
	struct linetable_mark *marks, *fitted;
	struct linetable_entry entry;
	struct linetable_cursor c;
	__u32 cnt = 0;

	if (!cap)
		return 0;
	marks = malloc(cap * sizeof(*marks));
	if (!marks)
		return -ENOMEM;
	linetable_cursor_init(&c, t->bytes, t->size, t->first_line);
	for (__u32 i = 1; linetable_next(&c, &entry); i++) {
		if (i % LINETABLE_STRIDE == 0)
			marks[cnt++] = (struct linetable_mark){ c.unit, c.offset, c.line };
	}
	fitted = cnt ? realloc(marks, cnt * sizeof(*marks)) : NULL;
	if (!cnt)
		free(marks);
	t->marks = cnt && !fitted ? marks : fitted;
	t->mark_cnt = cnt;
	return 0;
}

int linetable_init(struct linetable *t, __u8 *bytes, __u32 size, int first_line)
{
	int err;

	*t = (struct linetable){ .bytes = bytes, .size = size, .first_line = first_line };
	err = add_marks(t);
	if (err)
		linetable_deinit(t);
	return err;
}

void linetable_deinit(struct linetable *t)
{
	free(t->bytes);
	free(t->marks);
	*t = (struct linetable){ 0 };
}

/* The last mark at or before the unit; NULL: the start of the table. */
static const struct linetable_mark *find_mark(const struct linetable *t, __u32 unit)
{
	size_t cnt = sorted_below(t->mark_cnt, i, t->marks[i].unit <= unit);

	return cnt ? &t->marks[cnt - 1] : NULL;
}

/* mark: NULL for the start of the table. */
static struct linetable_cursor cursor_at(const struct linetable *t,
					 const struct linetable_mark *mark)
{
	struct linetable_cursor c;

	linetable_cursor_init(&c, t->bytes, t->size, t->first_line);
	if (mark) {
		c.offset = mark->offset;
		c.unit = mark->unit;
		c.line = mark->line;
	}
	return c;
}

struct source_position linetable_lookup(const struct linetable *t, __u32 unit)
{
	struct linetable_cursor c = cursor_at(t, find_mark(t, unit));
	struct linetable_entry entry;

	while (linetable_next(&c, &entry)) {
		if (unit < entry.unit_end)
			return entry.position;
	}
	return UNKNOWN;
}

__u32 linetable_unit_cnt(const struct linetable *t)
{
	const struct linetable_mark *mark = t->mark_cnt ? &t->marks[t->mark_cnt - 1] : NULL;
	struct linetable_cursor c = cursor_at(t, mark);
	struct linetable_entry entry;

	while (linetable_next(&c, &entry))
		;
	return c.unit;
}

size_t linetable_footprint(const struct linetable *t)
{
	return t->size + t->mark_cnt * sizeof(*t->marks);
}
