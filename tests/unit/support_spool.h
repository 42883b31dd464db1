/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_spool.h - a spool over unnamed files, and batches that identify themselves.
 */
#ifndef KRAIT_TESTS_SUPPORT_SPOOL_H
#define KRAIT_TESTS_SUPPORT_SPOOL_H

#include "agent/export/spool.h"

/* Destinations. */
#define SPOOL_TEST_KEY 77U
#define SPOOL_TEST_KEY2 78U

/* Belong to the running test; each starts with empty ones. */
extern struct spool_files test_files;

int spool_test_set_up(void **state);
int spool_test_tear_down(void **state);

/* Opens the files' content, with a cursor for SPOOL_TEST_KEY. */
struct spool *spool_test_open(int *cursor);
/* Appends batch n with n samples, a body that says so, and its own size. */
int spool_test_append(struct spool *s, __u32 n, size_t len);
/* Checks and consumes the cursor's batch. Returns its number; 0: nothing there. */
__u32 spool_test_take(struct spool *s, int cursor);

#endif /* KRAIT_TESTS_SUPPORT_SPOOL_H */
