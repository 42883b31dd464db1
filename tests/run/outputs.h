/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * outputs.h - what a test says and uses, in a folder of the run.
 */
#ifndef KRAIT_TESTS_RUN_OUTPUTS_H
#define KRAIT_TESTS_RUN_OUTPUTS_H

#include <linux/types.h>

/*
 * From now on, what we and our children write to stdout and stderr goes into folder/NAME.log, too. folder: NULL: nothing
 * is kept.
 */
void outputs_keep(const char *folder, const char *test);

/* Appends a line to folder/times.tsv: what our children and theirs, all of which have ended, used. */
void outputs_add_times(const char *folder, const char *test, __u64 elapsed_ns);

#endif /* KRAIT_TESTS_RUN_OUTPUTS_H */
