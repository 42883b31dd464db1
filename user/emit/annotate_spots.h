/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * annotate_spots.h - what there is to see within a line of source: which part of it is hot, and at which
 * instructions.
 *
 * Must hold: columns come from the program, the text from a file that may be another one by now: what does not lie in
 * the text is shown where the text ends.
 */
#ifndef KRAIT_EMIT_ANNOTATE_SPOTS_H
#define KRAIT_EMIT_ANNOTATE_SPOTS_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/spots.h"

/* A line, and what was measured in it. */
struct annotated_line {
	const char *text;
	const struct spot *spots; /* of it, in order */
	__u32 spot_cnt;
	__u64 total; /* of the line: no part of it has more */
	double all; /* samples */
};

/* A row for each part of the line, with a mark below it: what "f(g(x), h(y))" spent in "g(x)". 0 or -ENOMEM. */
int annotate_put_columns(FILE *out, const struct annotated_line *l)
	__attribute__((warn_unused_result));
/* A row for each instruction: where it is in the code, what it is, the part of the line that it evaluates. 0 or -ENOMEM. */
int annotate_put_instructions(FILE *out, const struct annotated_line *l, bool color)
	__attribute__((warn_unused_result));

#endif /* KRAIT_EMIT_ANNOTATE_SPOTS_H */
