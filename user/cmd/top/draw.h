/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * draw.h - the whole screen of krait top: two lines of totals, the view, and a line of keys.
 */
#ifndef KRAIT_CMD_TOP_DRAW_H
#define KRAIT_CMD_TOP_DRAW_H

#include "cmd/top/screen.h"
#include "cmd/top/ui.h"

/* What the session knows. */
struct top_status {
	const char *clock; /* "14:02:11" */
	__u64 frequency; /* Hz */
	unsigned processes; /* sampled ones */
	unsigned cpus;
	__u64 lost, interrupts; /* in the last round */
};

/* Lines above and below the view. */
#define DRAW_HEAD_LINES 2
#define DRAW_FOOT_LINES 1

/* Draws the two lines at the top. */
void draw_head(struct screen *s, const struct model *m, const struct top_status *status);
/* Draws everything. */
void draw_top(struct screen *s, struct ui *ui, const struct top_status *status);
/* Draws source lines with the cost of each. */
void draw_source(struct screen *s, unsigned y, unsigned end, struct ui *ui);
void draw_help(struct screen *s, bool off_cpu);

#endif /* KRAIT_CMD_TOP_DRAW_H */
