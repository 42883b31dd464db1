/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * capture_copy.h - copies a capture (capture/perfdata/perf_copy.h) together with krait's libraries, so that the copy needs
 * nothing of the original.
 */
#ifndef KRAIT_CAPTURE_IMPORT_CAPTURE_COPY_H
#define KRAIT_CAPTURE_IMPORT_CAPTURE_COPY_H

#include <stdio.h>

#include "capture/perfdata/perf_reader.h"

struct error;
struct inject_stats;
struct taken_stacks;

struct capture_copied {
	struct perf_read_stats read;
	unsigned libraries, missing; /* krait's: copied, not found */
};

/*
 * stacks: that the samples get, whose counts go to *ret_injected; both may be NULL.
 * in_name: path of *in, NULL: the standard input. out_name: what *out, which has no name yet, will be called, and
 * kept_name what has that name now (as in dso_store.h); NULL: *out is a pipe. compression: zstd's level, 0: none. Returns 0, or -errno with *err filled.
 */
int capture_copy(FILE *out, const char *out_name, const char *kept_name, FILE *in,
		 const char *in_name, int compression, const struct taken_stacks *stacks,
		 struct inject_stats *ret_injected, struct capture_copied *ret, struct error *err)
	__attribute__((warn_unused_result));

#endif /* KRAIT_CAPTURE_IMPORT_CAPTURE_COPY_H */
