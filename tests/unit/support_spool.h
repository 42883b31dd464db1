/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_spool.h - a spool over files that have no names, and batches that say what they are.
 */
#ifndef KRAIT_TESTS_SUPPORT_SPOOL_H
#define KRAIT_TESTS_SUPPORT_SPOOL_H

#include "export/spool.h"

/* Destinations. */
#define SPOOL_TEST_KEY 77U
#define SPOOL_TEST_KEY2 78U

/* Of the test that runs; each begins with empty ones. */
extern struct spool_files test_files;

int spool_test_set_up(void **state);
int spool_test_tear_down(void **state);

/* What is in the files, with a cursor for SPOOL_TEST_KEY. */
struct spool *spool_test_open(int *cursor);
/* Batch n has n samples, a body that says so, and a size of its own. */
int spool_test_append(struct spool *s, __u32 n, size_t len);
/* What the cursor says, checked, and done with. 0: nothing there. */
__u32 spool_test_take(struct spool *s, int cursor);

#endif /* KRAIT_TESTS_SUPPORT_SPOOL_H */
