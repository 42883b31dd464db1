/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * line_rows.h - writes positions, unit by unit, as a co_linetable (which python/code/linetable.h reads).
 * A position with a known end ends on its own line.
 */
#ifndef KRAIT_AGENT_KEEP_LINE_ROWS_H
#define KRAIT_AGENT_KEEP_LINE_ROWS_H

#include "base/data/bytes.h"

struct line_rows {
	struct bytes bytes; /* the caller frees them */
	int at; /* the line to which deltas are relative */
	int line, column, end_column; /* position not written yet */
	unsigned cnt; /* its units, at most 8 */
};

/* Initially all zero. first_line: the function's, which readers of the table need. */
void line_rows_init(struct line_rows *r, int first_line);
/* Adds the next unit; -1: unknown. */
void line_rows_add(struct line_rows *r, int line, int column, int end_column);
void line_rows_end(struct line_rows *r);

#endif /* KRAIT_AGENT_KEEP_LINE_ROWS_H */
