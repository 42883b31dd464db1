/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text.h - how rows and figures read on the screen.
 *
 * Names are the target's own: screen_put() makes them harmless.
 */
#ifndef KRAIT_CMD_TOP_TEXT_H
#define KRAIT_CMD_TOP_TEXT_H

#include <stddef.h>

#include "cmd/top/model.h"

/* The name of a function, process, thread, container or state; never empty. */
void row_name(char *buf, size_t size, const struct dict *d, enum rows_view view,
	      const struct row_key *key);
/* "models.py:12"; "" without a file. */
void row_file(char *buf, size_t size, const struct dict *d, const struct row_key *key);

/* Returns a title such as "Functions". */
const char *view_title(enum rows_view view);
const char *sort_title(enum row_sort sort);
/* Returns a title for a set of measures: "time on a CPU". */
const char *measure_title(unsigned measures);

/* 6 columns: ns as a share of of_ns. */
void put_share(char buf[16], __u64 ns, __u64 of_ns);
/* 8 columns. */
void put_seconds(char buf[16], __u64 ns);
/* "1:02:03" */
void put_length(char buf[32], __u64 ns);

#endif /* KRAIT_CMD_TOP_TEXT_H */
