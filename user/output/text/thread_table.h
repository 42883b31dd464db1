/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread_table.h - samples by program, process or thread as a text table.
 */
#ifndef KRAIT_OUTPUT_TEXT_THREAD_TABLE_H
#define KRAIT_OUTPUT_TEXT_THREAD_TABLE_H

#include "output/text/summary.h"

enum thread_table_rows {
	ROWS_PROGRAMS, /* processes with the same name share a row */
	ROWS_PROCESSES,
	ROWS_THREADS,
};

/* Uses limit, min_percent, samples, color and width of the options. Returns 0 or -errno. */
int thread_table(FILE *out, const struct counts *c, const struct summary_options *o,
		 enum thread_table_rows rows);
/*
 * Prints the largest programs and an empty line above another table. Prints nothing if there is
 * only one program or stacks do not name theirs. Ignores limit; otherwise as above. Returns 0 or
 * -errno.
 */
int program_table(FILE *out, const struct counts *c, const struct summary_options *o);

#endif /* KRAIT_OUTPUT_TEXT_THREAD_TABLE_H */
