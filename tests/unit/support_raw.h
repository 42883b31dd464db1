/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_raw.h - records as perf writes them, put together by hand.
 */
#ifndef KRAIT_TESTS_SUPPORT_RAW_H
#define KRAIT_TESTS_SUPPORT_RAW_H

#include <linux/types.h>
#include <stdio.h>

#include "base/data/bytes.h"

/* A type that no perf knows. */
#define RAW_UNKNOWN 99

/* Returns where it begins, for its end. */
size_t raw_record_begin(struct bytes *b, __u32 type, __u16 misc);
void raw_record_end(struct bytes *b, size_t start);
void raw_record_unknown(struct bytes *b, __u64 value);

/* A temporary file of these bytes, at its begin. */
FILE *raw_file(const struct bytes *b);
/* Appends all that a file has. */
void raw_file_read(FILE *f, struct bytes *ret);

#endif /* KRAIT_TESTS_SUPPORT_RAW_H */
