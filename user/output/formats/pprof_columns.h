/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pprof_columns.h - what the values of a pprof sample count, and the first strings of the string
 * table, which name them.
 */
#ifndef KRAIT_OUTPUT_FORMATS_PPROF_COLUMNS_H
#define KRAIT_OUTPUT_FORMATS_PPROF_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

/* Strings that do not come from the profile are first. */
enum fixed_string {
	STRING_EMPTY,
	STRING_SAMPLES,
	STRING_COUNT,
	STRING_CPU,
	STRING_NANOSECONDS,
	STRING_PID,
	STRING_THREAD_ID,
	STRING_THREAD_NAME,
	STRING_PYTHON,
	STRING_ORIGIN,
	STRING_UID,
	STRING_CLAIMED,
	STRING_SERVICE_NAME,
	STRING_COMMENT,
	STRING_BOOKS,
	STRING_COLUMNS, /* the first of the column names; the profile's strings follow */
};

/*
 * An event has two columns: its samples and what they stand for. Time off the CPU has a third for
 * waits for the GIL.
 */
struct pprof_column {
	const struct counts *counts; /* of an event or a part of one */
	bool weight;
	int64_t type, unit; /* indexes of the string table */
};

/* Initially all zero: none. */
struct pprof_columns {
	struct pprof_column *list;
	unsigned cnt;
	char **names; /* strings after the fixed ones */
	unsigned name_cnt;
	struct counts *gil_waits; /* NULL without time off the CPU */
	bool failed;
};

/* Returns 0 or -ENOMEM; must be freed in either case. */
int pprof_columns_choose(struct pprof_columns *c, const struct profile *p)
	__attribute__((warn_unused_result));
void pprof_columns_free(struct pprof_columns *c);

#endif /* KRAIT_OUTPUT_FORMATS_PPROF_COLUMNS_H */
