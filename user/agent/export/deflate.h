/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * deflate.h - compresses a body with gzip, and back, in memory.
 */
#ifndef KRAIT_AGENT_EXPORT_DEFLATE_H
#define KRAIT_AGENT_EXPORT_DEFLATE_H

#include <stddef.h>

#include "base/data/bytes.h"

/* Appends to *ret. Returns 0 or -ENOMEM. */
int deflate_gzip(struct bytes *ret, const void *data, size_t len)
	__attribute__((warn_unused_result, nonnull));
/* The reverse; the result must have exactly raw_len bytes, else -EBADMSG. */
int inflate_gzip(struct bytes *ret, const void *data, size_t len, size_t raw_len)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_AGENT_EXPORT_DEFLATE_H */
