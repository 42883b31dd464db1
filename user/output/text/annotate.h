/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * annotate.h - source text on a terminal, with the samples of each line beside it. The HTML page
 * has its own view for this.
 */
#ifndef KRAIT_OUTPUT_TEXT_ANNOTATE_H
#define KRAIT_OUTPUT_TEXT_ANNOTATE_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/counts.h"

struct annotate_options {
	const char *what; /* a function's name or the end of a file's path; NULL: the hottest */
	__u32 file; /* string id: only this file; 0: as what says */
	/* where to look if the recorded path does not exist here; NULL: nowhere */
	const char *source_dir;
	unsigned limit; /* on the number of files, if what is NULL */
	unsigned context; /* lines kept around a line with samples; 0: the whole file */
	double min_percent; /* lines with a smaller total keep no lines around them */
	bool columns; /* a row for each part of a line; a page always shows them within the line */
	bool instructions; /* a row for each instruction; a page has them if they were recorded */
	bool charged; /* lines have what native threads do for them (capture/import/charging.h) */
	bool color;
};

/*
 * Returns 0, -ENOENT (nothing of that name has samples), -ENOMSG (what has some has no lines), -ENODATA (instructions are wanted but were
 * not recorded) or another -errno.
 */
int annotate(FILE *out, const struct counts *c, const struct annotate_options *o)
	__attribute__((warn_unused_result));

/*
 * Finds the hottest line of that name in the file with most samples: there the page opens. Returns
 * as annotate() does; the text belongs to the dictionary.
 */
int annotate_find(const struct counts *c, const struct annotate_options *o, const char **ret_file,
		  int *ret_line) __attribute__((warn_unused_result));

#endif /* KRAIT_OUTPUT_TEXT_ANNOTATE_H */
