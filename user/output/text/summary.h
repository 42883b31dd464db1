/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * summary.h - the hottest functions, or lines, as a table of text.
 */
#ifndef KRAIT_OUTPUT_TEXT_SUMMARY_H
#define KRAIT_OUTPUT_TEXT_SUMMARY_H

#include "output/text/text_report.h"

/* Ends with the accounts, if there are any. Returns 0 or -errno. */
int summary_table(FILE *out, const struct counts *c, const struct summary_options *o);

#endif /* KRAIT_OUTPUT_TEXT_SUMMARY_H */
