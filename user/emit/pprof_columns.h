/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pprof_columns.h - what a sample of a pprof profile counts, and the first strings of its table, which
 * say so.
 */
#ifndef KRAIT_EMIT_PPROF_COLUMNS_H
#define KRAIT_EMIT_PPROF_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

/* Strings that are not of the profile come first. */
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
	STRING_COMMENT,
	STRING_BOOKS,
	STRING_COLUMNS, /* the first of the names of columns; the profile's follow them */
};

/* An event has two columns: its samples, and what they stand for. Of time off the CPU a third has the waits for the GIL. */
struct pprof_column {
	const struct counts *counts; /* of an event, or of a part of one */
	bool weight;
	int64_t type, unit; /* indexes of the string table */
};

/* All zero is none. */
struct pprof_columns {
	struct pprof_column *list;
	unsigned cnt;
	char **names; /* strings behind the fixed ones */
	unsigned name_cnt;
	struct counts *gil_waits; /* NULL where there is no time off the CPU */
	bool failed;
};

/* 0 or -ENOMEM; to be freed in any case. */
int pprof_columns_choose(struct pprof_columns *c, const struct profile *p)
	__attribute__((warn_unused_result));
void pprof_columns_free(struct pprof_columns *c);

#endif /* KRAIT_EMIT_PPROF_COLUMNS_H */
