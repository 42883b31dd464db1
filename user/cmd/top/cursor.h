/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cursor.h - which row or source line the cursor is on, and which part of them is visible.
 *
 * Must hold: once moved, the cursor follows its row wherever a refresh puts it.
 */
#ifndef KRAIT_CMD_TOP_CURSOR_H
#define KRAIT_CMD_TOP_CURSOR_H

#include "cmd/top/ui.h"

/* The rows to choose from. */
const struct rows *ui_rows(const struct ui *ui);
/* The cursor's row; 0: none. */
__u32 ui_row(const struct ui *ui);

/* Are source lines shown? Their text may be missing. */
bool ui_is_source(const struct ui *ui);
/* The number of rows or source lines to move over. */
__u32 ui_line_cnt(const struct ui *ui);

/* Moves to that line, or to the nearest one that exists. */
void ui_move_to(struct ui *ui, long line);
/* Moves to the next source line with a cost; wraps at the end. */
void ui_next_hot_line(struct ui *ui);
/* Moves to the top of a newly entered place. */
void ui_begin_place(struct ui *ui);
/* After a change of rows or screen size: puts the cursor on a row and makes it visible. */
void ui_settle(struct ui *ui, unsigned page);

#endif /* KRAIT_CMD_TOP_CURSOR_H */
