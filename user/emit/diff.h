/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff.h - two counts over one dictionary compared: what takes a larger or smaller share of the samples than before.
 *
 * Rows are in the order of their shares: recordings differ in length. The time that samples stand for is beside them, each
 * side by its own period. Functions are the same by name and short path, so edits above a function, or another checkout,
 * do not make it another one.
 */
#ifndef KRAIT_EMIT_DIFF_H
#define KRAIT_EMIT_DIFF_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/counts.h"

struct diff_options {
	bool by_total; /* order by the change of the total, not of self */
	unsigned limit; /* rows; 0 all */
	double min_points; /* of change, in percentage points, to be shown */
	bool samples; /* their numbers, not the time that they stand for; of the table, as is the width */
	unsigned width; /* columns of the terminal; 0: as wide as needed. Where it is narrow a row has self or total only */
	bool ascii; /* guides and ellipses */
	const char *name_a, *name_b;
};

/* Both 0, -EINVAL where they have not one dictionary, or -errno. */
int diff_table(FILE *out, const struct counts *a, const struct counts *b,
	       const struct diff_options *o) __attribute__((warn_unused_result));
/* The page (emit/html.h) with both: as wide as b or as a, red what has grown, blue what has shrunk. */
int diff_page(FILE *out, const struct counts *a, const struct counts *b,
	      const struct diff_options *o) __attribute__((warn_unused_result));

#endif /* KRAIT_EMIT_DIFF_H */
