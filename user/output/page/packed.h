/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * packed.h - binary data within a page: gzip in base64. flamegraph_packed.js unpacks it.
 */
#ifndef KRAIT_OUTPUT_PAGE_PACKED_H
#define KRAIT_OUTPUT_PAGE_PACKED_H

#include <stdio.h>

#include "base/data/bytes.h"

/* Writes all columns, concatenated, as base64. Returns 0 or -errno. */
int put_packed(FILE *out, const struct bytes *columns, unsigned cnt)
	__attribute__((warn_unused_result));

#endif /* KRAIT_OUTPUT_PAGE_PACKED_H */
