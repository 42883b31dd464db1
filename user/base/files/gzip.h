/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gzip.h - writes bytes to a file in gzip's format.
 */
#ifndef KRAIT_BASE_FILES_GZIP_H
#define KRAIT_BASE_FILES_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <zlib.h>

/* Initially all zero: closed. */
struct gzip {
	FILE *out;
	z_stream zip;
	bool is_open;
};

/* All three return 0 or -errno. *out is borrowed. */
int gzip_open(struct gzip *g, FILE *out) __attribute__((warn_unused_result));
/* size: at most UINT_MAX. */
int gzip_put(struct gzip *g, const void *data, size_t size) __attribute__((warn_unused_result));
int gzip_end(struct gzip *g) __attribute__((warn_unused_result));
void gzip_free(struct gzip *g);

#endif /* KRAIT_BASE_FILES_GZIP_H */
