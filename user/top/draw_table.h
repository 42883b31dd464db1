/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * draw_table.h - rows of a view as lines of a screen: figures, history, names.
 *
 *	  Self%  Total%    Self s  Total s  History     Function                 File
 *
 * The first two are of the last round, 100 % being one CPU; the next two since the start. What is narrow
 * has no history.
 */
#ifndef KRAIT_TOP_DRAW_TABLE_H
#define KRAIT_TOP_DRAW_TABLE_H

#include "top/model.h"
#include "top/screen.h"

/* No row is selected. */
#define NO_CURSOR (~0U)

struct draw_table {
	const struct model *model;
	const struct rows *rows;
	const struct order *order;
	__u32 first; /* of the order */
	__u32 cursor; /* likewise, NO_CURSOR none */
	bool shares; /* since the start: shares instead of seconds */
	bool plain; /* no history: for scripts */
};

/* A line with the names of columns, and the rows that fit into the lines y .. end - 1. */
void draw_table(struct screen *s, unsigned y, unsigned end, const struct draw_table *t);

#endif /* KRAIT_TOP_DRAW_TABLE_H */
