/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plain_tables.h - the unwinder's tables in ordinary memory, for walks in user space only.
 */
#ifndef KRAIT_NATIVE_ROWS_PLAIN_TABLES_H
#define KRAIT_NATIVE_ROWS_PLAIN_TABLES_H

#include <linux/types.h>

struct plain_tables;
struct unwind_tables;

/* bytes: most memory for rows. NULL: out of memory. */
struct plain_tables *plain_tables__new(__u64 bytes) __attribute__((warn_unused_result));
void plain_tables__free(struct plain_tables *t);
struct unwind_tables *plain_tables__tables(const struct plain_tables *t) __attribute__((nonnull));

#endif /* KRAIT_NATIVE_ROWS_PLAIN_TABLES_H */
