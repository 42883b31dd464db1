/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * linetable.h - from co_linetable (CPython 3.11+) to source positions.
 *
 * A table is a run of variable-length entries, each for 1 to 8 code units, with lines relative to
 * the entry before, so finding a position means decoding everything before it. Tables of 20 to 60
 * KB are normal in generated code, and every frame of every sample asks. So struct linetable keeps
 * a mark (where decoding may resume) every LINETABLE_STRIDE entries: a lookup is a binary search
 * plus at most that many entries.
 *
 * Positions are exactly those of code.co_positions() (Objects/codeobject.c,
 * advance_with_locations); None is -1.
 *
 * Must hold: the bytes come from the target and may be anything. Nothing outside of them is read,
 * every loop ends with them, and malformed or truncated data ends the table there.
 */
#ifndef KRAIT_PYTHON_CODE_LINETABLE_H
#define KRAIT_PYTHON_CODE_LINETABLE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* 1-based lines, 0-based byte columns as in code.co_positions(); -1: unknown. */
struct source_position {
	int line, end_line, column, end_column;
};

/* Entries between marks: a few dozen ns of decoding, for about the table's size again. */
#define LINETABLE_STRIDE 8

/* Decoding state: the next entry starts at bytes[offset] and covers units from unit on. */
struct linetable_cursor {
	const __u8 *bytes;
	__u32 size;
	__u32 offset;
	__u32 unit;
	__s64 line; /* running line; wide, so that no sum of deltas can overflow */
};

/* One entry: the code units [unit, unit_end) have this position. */
struct linetable_entry {
	__u32 unit, unit_end;
	struct source_position position;
};

struct linetable_mark {
	__u32 unit, offset;
	__s64 line;
};

/* An indexed table; owns both arrays. All zero: an empty table. */
struct linetable {
	__u8 *bytes;
	__u32 size;
	int first_line;
	__u32 mark_cnt;
	struct linetable_mark *marks; /* ascending units; marks[0] is entry LINETABLE_STRIDE */
};

void linetable_cursor_init(struct linetable_cursor *c, const __u8 *bytes, __u32 size,
			   int first_line);

/* Decodes one entry. False, with *ret_entry untouched, at the end or if it is malformed. */
bool linetable_next(struct linetable_cursor *c, struct linetable_entry *ret_entry);

/*
 * Takes over bytes (malloc'ed; may be NULL if size is 0), on failure, too. Returns 0 or -ENOMEM,
 * which leaves an empty table.
 */
int linetable_init(struct linetable *t, __u8 *bytes, __u32 size, int first_line)
	__attribute__((warn_unused_result));
void linetable_deinit(struct linetable *t);

/* Position of one code unit (2 bytes of bytecode); all -1 if the table has none. */
struct source_position linetable_lookup(const struct linetable *t, __u32 unit);

/* Code units that the table covers. */
__u32 linetable_unit_cnt(const struct linetable *t);

/* Heap bytes held. */
size_t linetable_footprint(const struct linetable *t);

#endif /* KRAIT_PYTHON_CODE_LINETABLE_H */
