/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * packed.h - bytes within a page: gzip, as base64. The page has a module that unpacks them, flamegraph_packed.js.
 */
#ifndef KRAIT_EMIT_PACKED_H
#define KRAIT_EMIT_PACKED_H

#include <stdio.h>

#include "util/bytes.h"

/* All of the columns, one behind the other; letters and digits only. 0 or -errno. */
int put_packed(FILE *out, const struct bytes *columns, unsigned cnt)
	__attribute__((warn_unused_result));

#endif /* KRAIT_EMIT_PACKED_H */
