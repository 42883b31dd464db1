/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_perf_copy.c - any bytes as a perf.data to be copied: the copy has no more records, it is read without complaints that
 * the original did not cause, and copying it again, compressed and
 * plain, changes nothing.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/perfdata/perf_copy.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a copy may grow to: records in compressed ones are many. */
#define COPY_MAX (64L << 20)

static const char *rename_it(void *ctx, const char *path, const __u8 *build_id,
			     unsigned build_id_size)
{
	if (build_id_size > 20 || !memchr(path, 0, 65536))
		abort();
	return path[0] == 'r' ? "/renamed/to/this" : NULL;
}

/* Returns the copy; NULL: it was refused. */
static FILE *copy(FILE *in, int compression, struct perf_read_stats *stats)
{
	const struct perf_copy_editor editor = { .rename = rename_it, .compression = compression };
	struct error err = { .text = "" };
	FILE *out = tmpfile();

	if (!out)
		abort();
	rewind(in);
	if (!perf_copy(out, in, "fuzz", &editor, stats, &err))
		return out;
	if (!*err.text)
		abort();
	fclose(out);
	return NULL;
}

static long size_of(FILE *f)
{
	return fseek(f, 0, SEEK_END) ? -1 : ftell(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_fclose FILE *in = tmpfile(), *first = NULL, *packed = NULL, *second = NULL;
	struct perf_read_stats before, after;

	if (!in || fwrite(data, 1, size, in) != size)
		abort();
	first = copy(in, 0, &before);
	if (!first || size_of(first) > COPY_MAX)
		return 0;
	packed = copy(first, 1, &after);
	second = packed ? copy(packed, 0, &after) : NULL;
	/* Its header may be one that only the reader of a whole file believes. */
	if (!second)
		return 0;
	/* What describes the compression is in the compressed copy alone. */
	if (before.records + 1 < after.records || after.cut > before.cut)
		abort();
	if (size_of(first) != size_of(second))
		abort();
	return 0;
}
