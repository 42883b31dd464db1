/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * draw_table.h - rows of a view as screen lines: figures, history, names.
 *
 * 	  Self%  Total%    Self s  Total s  History     Function                 File
 *
 * The first two are of the last round, with 100 % meaning one CPU; the next two count since the
 * start. Narrow screens have no history.
 */
#ifndef KRAIT_CMD_TOP_DRAW_TABLE_H
#define KRAIT_CMD_TOP_DRAW_TABLE_H

#include "cmd/top/model.h"
#include "cmd/top/screen.h"

/* No row is selected. */
#define NO_CURSOR (~0U)

struct draw_table {
	const struct model *model;
	const struct rows *rows;
	const struct order *order;
	__u32 first; /* index in the order */
	__u32 cursor; /* likewise; NO_CURSOR: none */
	bool shares; /* show shares since the start instead of seconds */
	bool plain; /* for scripts: no history */
};

/* Draws a line with column titles and the rows that fit into lines y to end - 1. */
void draw_table(struct screen *s, unsigned y, unsigned end, const struct draw_table *t);

#endif /* KRAIT_CMD_TOP_DRAW_TABLE_H */
