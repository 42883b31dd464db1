/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * annotate.h - source text with the samples of each line beside it, on a terminal. The page has a view of its own for that.
 */
#ifndef KRAIT_EMIT_ANNOTATE_H
#define KRAIT_EMIT_ANNOTATE_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/counts.h"

struct annotate_options {
	const char *what; /* a function's name or the end of a file's path; NULL: the hottest */
	const char *source_dir; /* where to look when the recorded path is not here; NULL nowhere */
	unsigned limit; /* files, if what is NULL */
	unsigned context; /* lines kept around a line with samples; 0: the whole file */
	bool columns; /* a row for each part of a line; a page shows them in the line, always */
	bool instructions; /* a row for each; a page has them where they were recorded */
	bool color;
};

/* 0; -ENOENT: nothing of that name has samples; -ENODATA: instructions are wanted and were not recorded; -errno. */
int annotate(FILE *out, const struct counts *c, const struct annotate_options *o)
	__attribute__((warn_unused_result));

/* The hottest line of that name, of the file that has most: where the page opens. Likewise; the text is the dictionary's. */
int annotate_find(const struct counts *c, const struct annotate_options *o, const char **ret_file,
		  int *ret_line) __attribute__((warn_unused_result));

#endif /* KRAIT_EMIT_ANNOTATE_H */
