/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text.h - what rows and figures are called on the screen.
 *
 * Names are as the target chose them: screen_put() makes them harmless.
 */
#ifndef KRAIT_TOP_TEXT_H
#define KRAIT_TOP_TEXT_H

#include <stddef.h>

#include "top/model.h"

/* Of a function, a process, a thread, a container, a state; never empty. */
void row_name(char *buf, size_t size, const struct dict *d, enum rows_view view,
	      const struct row_key *key);
/* "models.py:12"; "" where there is none. */
void row_file(char *buf, size_t size, const struct dict *d, const struct row_key *key);

/* "Functions". */
const char *view_title(enum rows_view view);
const char *sort_title(enum row_sort sort);
/* Of a set of them: "time on a CPU". */
const char *measure_title(unsigned measures);

/* 6 columns: ns as the share of so much time. */
void put_share(char buf[16], __u64 ns, __u64 of_ns);
/* 8 columns. */
void put_seconds(char buf[16], __u64 ns);
/* "1:02:03" */
void put_length(char buf[32], __u64 ns);

#endif /* KRAIT_TOP_TEXT_H */
