/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * summary.h - the hottest functions, or lines, as a table of text.
 */
#ifndef KRAIT_OUTPUT_TEXT_SUMMARY_H
#define KRAIT_OUTPUT_TEXT_SUMMARY_H

#include "output/text/text_report.h"
#include "base/text/json.h"

/* Ends with the accounts, if there are any. Returns 0 or -errno. */
int summary_table(FILE *out, const struct counts *c, const struct summary_options *o);
/*
 * The same rows for programs, as members of the open object: what report_put_json() puts, and "rows". With
 * options->json_lines it closes the object before the rows.
 * Returns 0 or -errno; errors of the stream are left to who has it.
 */
int summary_json(struct json *j, const struct counts *c, const struct summary_options *o)
	__attribute__((warn_unused_result));

#endif /* KRAIT_OUTPUT_TEXT_SUMMARY_H */
