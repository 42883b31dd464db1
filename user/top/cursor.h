/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cursor.h - which row or line of source the cursor is on, and which part of them is seen.
 *
 * Must hold: once it was moved it stays on its row, wherever rows that are made anew put that.
 */
#ifndef KRAIT_TOP_CURSOR_H
#define KRAIT_TOP_CURSOR_H

#include "top/ui.h"

/* Rows to choose from. */
const struct order *ui_order(const struct ui *ui);
const struct rows *ui_rows(const struct ui *ui);
/* The row of the cursor, 0 none. */
__u32 ui_row(const struct ui *ui);

/* Are lines of source shown, and is their text there? */
bool ui_is_source(const struct ui *ui);
bool ui_has_text(const struct ui *ui);
/* What there is to move over: rows, or lines of source. */
__u32 ui_line_cnt(const struct ui *ui);

/* To that line, or to the nearest that there is. */
void ui_move_to(struct ui *ui, long line);
/* To the next line of source with a cost, and after the last to the first. */
void ui_next_hot_line(struct ui *ui);
/* To the top of a place that was not shown before. */
void ui_begin_place(struct ui *ui);
/* Rows have changed, or the screen: the cursor is somewhere, and is seen. */
void ui_settle(struct ui *ui, unsigned page);

#endif /* KRAIT_TOP_CURSOR_H */
