/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_perf_reader.c - any bytes as perf.data: no sample is lost or invented, and the resulting
 * profile can be written.
 */
#include <linux/types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/import/perf_import.h"
#include "output/text/summary.h"
#include "support_roles.h"
#include "base/system/error.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A capture names files whose symbols a parser reads: that parser is this program. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	become_worker(*argv);
	return 0;
}

static void on_sample(void *ctx, const struct profile *p, const struct profile_sample *s)
{
	__u64 *cnt = ctx;

	if (s->node > dict__node_cnt(p->dict) || !s->comm)
		abort();
	++*cnt;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct summary_options options = { .width = 80 };
	struct perf_import_stats stats;
	struct perf_import_config config = { .path = "fuzz",
					     .alone = true,
					     .on_sample = on_sample };
	struct error err = { .text = "" };
	__u64 sum = 0, cnt = 0;
	struct profile *p;
	FILE *in, *out;

	if (!size)
		return 0;
	config.ctx = &cnt;
	config.filter.charge_waiters = size & 1;
	config.filter.no_native = config.filter.no_kernel = size & 2;
	p = profile__new();
	in = fmemopen((void *)(uintptr_t)data, size, "r");
	out = fopen("/dev/null", "w");
	if (!p || !in || !out)
		abort();
	if (perf_import(p, in, &config, &stats, &err)) {
		if (!*err.text)
			abort();
	} else {
		for (__u32 i = 0; i <= dict__node_cnt(p->dict); i++)
			sum += counts__at(profile__counts(p, 0), i).samples;
		if (sum != stats.samples || cnt != stats.samples)
			abort();
		if (summary_table(out, profile__counts(p, 0), &options))
			abort();
	}
	fclose(in);
	fclose(out);
	profile__free(p);
	return 0;
}
