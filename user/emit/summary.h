/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * summary.h - the hottest functions as a table of text, or the call tree.
 *
 * Sized to the terminal, plain and as wide as needed when piped.
 */
#ifndef KRAIT_EMIT_SUMMARY_H
#define KRAIT_EMIT_SUMMARY_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/counts.h"

enum summary_sort {
	SUMMARY_SELF,
	SUMMARY_TOTAL,
};

struct summary_options {
	enum summary_sort sort;
	unsigned limit; /* rows of the table; 0 is all */
	double min_percent; /* leave out what has less in total */
	bool lines; /* one row per line, not per function */
	bool tree_processes; /* processes as the first level of the tree */
	unsigned width; /* columns; 0 is as wide as needed */
	bool color;
};

/* Defaults that fit the stream: width and colour of a terminal (unless NO_COLOR is set). */
void summary_options_init(struct summary_options *o, FILE *out);

/* 0 or -errno. Both end with the accounts where there are any. */
int summary_table(FILE *out, const struct counts *c, const struct summary_options *o);
int summary_tree(FILE *out, const struct counts *c, const struct summary_options *o);

#endif /* KRAIT_EMIT_SUMMARY_H */
