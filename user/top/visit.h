/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * visit.h - into places and out of them: a process, a thread, a container, a function's source or callers; and
 * from one view of a place to another.
 */
#ifndef KRAIT_TOP_VISIT_H
#define KRAIT_TOP_VISIT_H

#include "top/ui.h"

/* Into what the cursor is on. */
void ui_enter(struct ui *ui);
/* To who calls that function, and what it calls. */
void ui_enter_callers(struct ui *ui, const struct row_key *key);
/* Without the filter, where there is one; else out of the place. */
void ui_go_back(struct ui *ui);
/* The same place in another view. */
void ui_show(struct ui *ui, enum rows_view view, bool tree);
void ui_next_view(struct ui *ui);
void ui_toggle_tree(struct ui *ui);

#endif /* KRAIT_TOP_VISIT_H */
