/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * annotate_spots.h - detail within a source line: which part of it is hot, and at which
 * instructions.
 *
 * Must hold: columns come from the program, but the text comes from a file that may have changed
 * since. Columns beyond the text are shown at its end.
 */
#ifndef KRAIT_OUTPUT_TEXT_ANNOTATE_SPOTS_H
#define KRAIT_OUTPUT_TEXT_ANNOTATE_SPOTS_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/spots.h"

/* A line and what was measured in it. */
struct annotated_line {
	const char *text;
	const struct spot *spots; /* of the line, sorted */
	__u32 spot_cnt;
	__u64 total; /* of the line: no part has more */
	double all; /* samples */
	bool is_time; /* they are nanoseconds */
};

/* Prints a share of all and how many samples, events or how much time that is; blanks for 0. */
void annotate_put_amount(FILE *out, double percent, __u64 units, bool is_time);

/*
 * Prints a row for each part of the line with a mark below it: what "f(g(x), h(y))" spent in
 * "g(x)". Returns 0 or -ENOMEM.
 */
int annotate_put_columns(FILE *out, const struct annotated_line *l)
	__attribute__((warn_unused_result));
/*
 * Prints a row for each instruction: its offset in the code, its opcode and the part of the line it
 * evaluates. Returns 0 or -ENOMEM.
 */
int annotate_put_instructions(FILE *out, const struct annotated_line *l, bool color)
	__attribute__((warn_unused_result));

#endif /* KRAIT_OUTPUT_TEXT_ANNOTATE_SPOTS_H */
