/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * visit.h - entering and leaving places: a process, a thread, a container, a function's source or
 * callers; and switching between views of a place.
 */
#ifndef KRAIT_CMD_TOP_VISIT_H
#define KRAIT_CMD_TOP_VISIT_H

#include "cmd/top/ui.h"

/* Enters what the cursor is on. */
void ui_enter(struct ui *ui);
/* Enters a function's callers and callees. */
void ui_enter_callers(struct ui *ui, const struct row_key *key);
/* Clears the filter if there is one; otherwise leaves the place. */
void ui_go_back(struct ui *ui);
/* Shows the same place in another view. */
void ui_show(struct ui *ui, enum rows_view view, bool tree);
void ui_next_view(struct ui *ui);
void ui_toggle_tree(struct ui *ui);

#endif /* KRAIT_CMD_TOP_VISIT_H */
