/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread_table.h - samples of each process or thread as a table of text.
 */
#ifndef KRAIT_EMIT_THREAD_TABLE_H
#define KRAIT_EMIT_THREAD_TABLE_H

#include "emit/summary.h"

/* Takes limit, min_percent and color of the options. 0 or -errno. */
int thread_table(FILE *out, const struct counts *c, const struct summary_options *o, bool threads);

#endif /* KRAIT_EMIT_THREAD_TABLE_H */
