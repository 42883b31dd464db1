/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread_table.h - samples of each program, process or thread as a table of text.
 */
#ifndef KRAIT_EMIT_THREAD_TABLE_H
#define KRAIT_EMIT_THREAD_TABLE_H

#include "emit/summary.h"

enum thread_table_rows {
	ROWS_PROGRAMS, /* processes of one name are one */
	ROWS_PROCESSES,
	ROWS_THREADS,
};

/* Takes limit, min_percent, samples, color and width of the options. 0 or -errno. */
int thread_table(FILE *out, const struct counts *c, const struct summary_options *o,
		 enum thread_table_rows rows);
/*
 * The programs with most and an empty line, above another table; nothing where there is but one, or where stacks do
 * not say whose they are. Takes the same but limit. 0 or -errno.
 */
int program_table(FILE *out, const struct counts *c, const struct summary_options *o);

#endif /* KRAIT_EMIT_THREAD_TABLE_H */
