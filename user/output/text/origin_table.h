/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * origin_table.h - a row for each origin of code (profile/origin.h): what runs in it and below it.
 */
#ifndef KRAIT_OUTPUT_TEXT_ORIGIN_TABLE_H
#define KRAIT_OUTPUT_TEXT_ORIGIN_TABLE_H

#include "output/text/summary.h"

/* Returns 0 or -errno. */
int origin_table(FILE *out, const struct counts *c, const struct summary_options *o);

/*
 * The block in another table: as many rows as its options want, between empty lines; nothing if all
 * is of one origin. Returns 0 or -errno.
 */
int origin_put_block(const struct text_report *r) __attribute__((warn_unused_result));

#endif /* KRAIT_OUTPUT_TEXT_ORIGIN_TABLE_H */
