/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_folded_reader.c - any bytes as folded text: counts are preserved, and all outputs can be
 * written.
 */
#include <linux/types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/common/formats.h"
#include "capture/import/folded_reader.h"
#include "output/text/call_tree.h"
#include "output/text/summary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_out(const struct profile *p, const char *format)
{
	const struct emit_options options = { .lines = true };
	const struct emitter_ops *ops = format_by_name(format);
	struct emitter *e;
	FILE *out = fopen("/dev/null", "w");

	if (!out || ops->open(&e, out, &options) || ops->finish(e, p, 0))
		abort();
	ops->free(e);
	fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct summary_options options = { .width = 80 };
	struct folded_stats stats;
	struct profile *p;
	__u64 sum = 0;
	FILE *in, *out;
	__u32 i;

	if (!size)
		return 0;
	p = profile__new();
	in = fmemopen((void *)(uintptr_t)data, size, "r");
	out = fopen("/dev/null", "w");
	if (!p || !in || !out || folded_read(profile__counts(p, 0), in, NULL, &stats))
		abort();
	for (i = 0; i <= dict__node_cnt(p->dict); i++)
		sum += counts__at(profile__counts(p, 0), i).samples;
	if (sum != stats.samples || stats.stacks + stats.malformed > stats.lines)
		abort();
	if (summary_table(out, profile__counts(p, 0), &options) ||
	    call_tree(out, profile__counts(p, 0), &options))
		abort();
	write_out(p, "folded");
	write_out(p, "html");
	fclose(in);
	fclose(out);
	profile__free(p);
	return 0;
}
