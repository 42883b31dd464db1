/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_inject.c - any bytes as perf's data, also compressed by krait, and as what krait took meanwhile: injecting one into the
 * other ends, and the result is read without complaints that the original did not cause.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/bytes.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "capture/dso/dso.h"
#include "capture/import/inject.h"
#include "capture/import/taken_stacks.h"
#include "capture/perfdata/perf_copy.h"
#include "capture/perfdata/perf_writer.h"
#include "process/space/mapping.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *library(void *ctx, const char *path, const __u8 *build_id, unsigned size)
{
	if (size != 20 || !memchr(path, 0, 65536))
		abort();
	return "/perf.data.krait/python-00112233.so";
}

static int edit(void *ctx, const struct perf_reader *reader, const struct perf_read *r,
		struct bytes *to)
{
	return inject_edit(ctx, reader, r, to);
}

static void add_build_ids(void *ctx, struct bytes *to)
{
	inject_add_build_ids(ctx, to);
}

/* Stacks of the threads that the input has, at the times that its samples have: chance would meet none. */
static void put_stacks(struct perf_writer *w, FILE *in)
{
	const __u64 chain[] = { (__u64)PERF_CONTEXT_USER, DSO_BASE + 0x1001, 0x400000 };
	struct perf_reader *reader;
	struct perf_read r;
	struct error err;

	rewind(in);
	if (perf_reader__open(&reader, in, "fuzz", &err))
		return;
	while (perf_reader__next(reader, &r) > 0) {
		const struct perf_stamp stamp = { .pid = r.pid,
						  .tid = r.tid,
						  .time_ns = r.time_ns };

		if (r.kind == PERF_READ_SAMPLE &&
		    perf_writer__sample(w, &stamp, 0, r.time_ns, chain[1], chain, 3))
			abort();
	}
	perf_reader__free(reader);
}

static FILE *make_stacks(FILE *in)
{
	static const struct event_spec event = { .name = TAKEN_EVENT,
						 .type = PERF_TYPE_SOFTWARE,
						 .config = PERF_COUNT_SW_DUMMY,
						 .period = 1 };
	static const struct recording recording = { .host = "h", .kernel = "k" };
	const struct perf_writer_config config = { .recording = &recording,
						   .events = &event,
						   .event_cnt = 1 };
	const struct perf_stamp stamp = { .pid = 1, .tid = 1 };
	const struct mapping at = { DSO_BASE, DSO_BASE + DSO_STRIDE, 0, { NULL } };
	const __u8 build_id[20] = { 1 };
	const struct perf_object object = { "/x.krait/python-01000000.so", build_id };
	struct perf_writer *w;
	FILE *f = tmpfile();

	if (!f || perf_writer__new(&w, f, &config) || perf_writer__mapping(w, &stamp, &at, &object))
		abort();
	put_stacks(w, in);
	if (perf_writer__finish(w, NULL, 0))
		abort();
	perf_writer__free(w);
	rewind(f);
	return f;
}

static void inject_into(FILE *in, FILE *stacks_in)
{
	cleanup_fclose FILE *out = tmpfile();
	struct inject inject = { .library = library };
	const struct perf_copy_editor editor = { .edit = edit,
						 .add_build_ids = add_build_ids,
						 .ctx = &inject };
	struct perf_read_stats before, after;
	struct taken_stacks *stacks;
	struct error err = { .text = "" };

	rewind(in);
	if (taken_stacks__read(&stacks, stacks_in, "fuzz", &err)) {
		if (!*err.text)
			abort();
		return;
	}
	inject.stacks = stacks;
	if (!perf_copy(out, in, "fuzz", &editor, &before, &err)) {
		const struct perf_copy_editor plain = { 0 };
		cleanup_fclose FILE *again = tmpfile();

		rewind(out);
		if (!perf_copy(again, out, "fuzz", &plain, &after, &err) &&
		    (after.skipped > before.skipped || after.cut > before.cut ||
		     after.records + 1 < before.records))
			abort();
		if (inject.stats.python > inject.stats.matched ||
		    inject.stats.matched > inject.stats.samples)
			abort();
	}
	inject_free(&inject);
	taken_stacks__free(stacks);
}

/* The same in compressed records; NULL: it is no capture. */
static FILE *compressed(FILE *in)
{
	const struct perf_copy_editor editor = { .compression = 1 };
	struct perf_read_stats stats;
	struct error err;
	FILE *out = tmpfile();

	if (!out)
		abort();
	rewind(in);
	if (!perf_copy(out, in, "fuzz", &editor, &stats, &err))
		return out;
	fclose(out);
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_fclose FILE *in = tmpfile(), *own = NULL, *packed = NULL;

	if (!in || fwrite(data, 1, size, in) != size)
		abort();
	own = make_stacks(in);
	inject_into(in, own);
	packed = compressed(in);
	rewind(own);
	if (packed)
		inject_into(packed, own);
	/* And as if the input were krait's. */
	rewind(in);
	rewind(own);
	inject_into(own, in);
	return 0;
}
