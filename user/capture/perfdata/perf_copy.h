/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_copy.h - a perf.data with the records of another one, krait's, perf's or anybody's, in the same layout.
 *
 * Everything is copied byte for byte, whether krait knows it or not: events, records, trace data, features. Only what
 * was compressed is not any more (or is anew), what depends on where something is in the file is corrected, and editors may
 * rename objects. A file whose writer was killed gets an end.
 */
#ifndef KRAIT_CAPTURE_PERFDATA_PERF_COPY_H
#define KRAIT_CAPTURE_PERFDATA_PERF_COPY_H

#include <stdio.h>

#include "capture/perfdata/perf_reader.h"

struct bytes;

/* All may be NULL. */
struct perf_copy_editor {
	/*
	 * Puts into *to the records that take the place of this one. Returns 1, 0: it stays as it is, or -errno. The first
	 * event's description precedes the first call.
	 */
	int (*edit)(void *ctx, const struct perf_reader *reader, const struct perf_read *r,
		    struct bytes *to);
	/* Appends entries to the list of build IDs, if the file has one (perf_build_id_put()). */
	void (*add_build_ids)(void *ctx, struct bytes *to);
	/* Returns the new path of a mapped object, valid until the next call; NULL: it keeps its own. */
	const char *(*rename)(void *ctx, const char *path, const __u8 *build_id,
			      unsigned build_id_size);
	void *ctx;
	int compression; /* of the copy: zstd's level, 0: none */
};

/*
 * name: of *in, for messages. Both files are at their start; *out is a regular file unless *in has the pipe layout.
 * Returns 0, or -errno with *err filled.
 */
int perf_copy(FILE *out, FILE *in, const char *name, const struct perf_copy_editor *editor,
	      struct perf_read_stats *ret_stats, struct error *err)
	__attribute__((warn_unused_result));

#endif /* KRAIT_CAPTURE_PERFDATA_PERF_COPY_H */
