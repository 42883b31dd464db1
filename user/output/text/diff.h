/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff.h - compares two counts over one dictionary: what takes a larger or smaller share of the
 * samples than before.
 *
 * Rows are sorted by the change of their shares, since recordings differ in length. Beside it is
 * the time that the samples stand for, each side by its own period. Functions match by name and
 * short path, so edits above a function, or another checkout, do not make it a different one.
 */
#ifndef KRAIT_OUTPUT_TEXT_DIFF_H
#define KRAIT_OUTPUT_TEXT_DIFF_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/counts.h"
#include "base/text/json.h"

struct diff_options {
	bool by_total; /* sort by the change of the total instead of self */
	unsigned limit; /* rows; 0 all */
	double min_points; /* least change to show, in percentage points */
	bool samples; /* table: show samples instead of the time they stand for */
	/*
	 * table: columns of the terminal; 0: as wide as needed. A row of a narrow table has only
	 * self or total
	 */
	unsigned width;
	bool ascii; /* guides and ellipses in ASCII */
	const char *name_a, *name_b;
	double seconds[2]; /* page: how long each recording lasted; 0: unknown */
};

/* Both return 0, -EINVAL if the counts have different dictionaries, or another -errno. */
int diff_table(FILE *out, const struct counts *a, const struct counts *b,
	       const struct diff_options *o) __attribute__((warn_unused_result));
/* The same rows for programs: one JSON object (docs/READING.md), whose head the caller has put. */
int diff_json(struct json *j, const struct counts *a, const struct counts *b,
	      const struct diff_options *o) __attribute__((warn_unused_result));
/* Writes the page (output/page/html.h) with both: as wide as b or as a; red has grown, blue has shrunk. */
int diff_page(FILE *out, const struct counts *a, const struct counts *b,
	      const struct diff_options *o) __attribute__((warn_unused_result));

#endif /* KRAIT_OUTPUT_TEXT_DIFF_H */
