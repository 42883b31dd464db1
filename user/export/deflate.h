/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * deflate.h - a body as gzip has it, and back, in memory.
 */
#ifndef KRAIT_EXPORT_DEFLATE_H
#define KRAIT_EXPORT_DEFLATE_H

#include <stddef.h>

#include "util/bytes.h"

/* Behind what is in *ret. 0 or -ENOMEM. */
int deflate_gzip(struct bytes *ret, const void *data, size_t len)
	__attribute__((warn_unused_result, nonnull));
/* The same, and exactly so many bytes: else -EBADMSG. */
int inflate_gzip(struct bytes *ret, const void *data, size_t len, size_t raw_len)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_EXPORT_DEFLATE_H */
