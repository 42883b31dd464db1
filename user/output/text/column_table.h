/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * column_table.h - what perf report --sort and -F print: a row for each combination of the columns, by what ended there.
 */
#ifndef KRAIT_OUTPUT_TEXT_COLUMN_TABLE_H
#define KRAIT_OUTPUT_TEXT_COLUMN_TABLE_H

#include "output/text/text_report.h"

/* perf's columns, by its names. */
enum column {
	COLUMN_OVERHEAD,
	COLUMN_SAMPLE,
	COLUMN_PERIOD,
	COLUMN_COMM, /* the first of those that distinguish rows */
	COLUMN_PID,
	COLUMN_TID,
	COLUMN_DSO,
	COLUMN_SYMBOL,
	COLUMN_SRCLINE,
	COLUMN_CNT
};

#define COLUMN_MAX 12

struct column_options {
	enum column columns[COLUMN_MAX];
	unsigned cnt; /* 0: perf's default */
	/* Only these rows: lists with commas; any if NULL. */
	const char *comms, *dsos, *symbols;
	const char *symbol_filter; /* symbols that contain it */
};

/* What --sort and -F take: "overhead, sample, period, comm ...". */
extern const char column_names[];
/* The name of each; NULL: there are no more. */
const char *column_name(unsigned i);
/* Appends the columns of "comm,dso,symbol". Returns 0; -EINVAL with the word that is none in *ret_word; -E2BIG. */
int column_options_add(struct column_options *o, const char *text, const char **ret_word)
	__attribute__((warn_unused_result));

/* Returns 0 or -errno. */
int column_table(FILE *out, const struct counts *c, const struct column_options *columns,
		 const struct summary_options *o);

#endif /* KRAIT_OUTPUT_TEXT_COLUMN_TABLE_H */
