/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * line_rows.h - positions, unit by unit, as a co_linetable (symbol/linetable.h reads it). A position ends on its
 * line, where it is known where it ends.
 */
#ifndef KRAIT_KEEP_LINE_ROWS_H
#define KRAIT_KEEP_LINE_ROWS_H

#include "util/bytes.h"

struct line_rows {
	struct bytes bytes; /* the caller frees them */
	int at; /* the line that deltas are of */
	int line, column, end_column; /* of what is not written yet */
	unsigned cnt; /* units of it, at most 8 */
};

/* All zero before. first_line: of the function, as whoever reads the table says it. */
void line_rows_init(struct line_rows *r, int first_line);
/* The next unit; -1 unknown. */
void line_rows_add(struct line_rows *r, int line, int column, int end_column);
void line_rows_end(struct line_rows *r);

#endif /* KRAIT_KEEP_LINE_ROWS_H */
