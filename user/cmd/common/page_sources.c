/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/common/page_sources.h"

#include <errno.h>

#include "output/source_lookup.h"
#include "cmd/common/source_reader.h"
#include "base/system/clock.h"

#define ONE_MS 500
#define ALL_NS (5 * NS_PER_SEC)

static int read_source(void *ctx, const struct dict *dict, __u32 file, char **ret)
{
	struct page_sources *s = ctx;
	__u64 now_ns = clock_monotonic_ns();

	if (!s->apart)
		return source_lookup(ret, dict, file, s->folder, true);
	if (!s->until_ns)
		s->until_ns = now_ns + ALL_NS;
	if (now_ns >= s->until_ns)
		return -ETIMEDOUT;
	return source_read_apart(ret, dict, file, s->folder, ONE_MS);
}

void page_sources_offer(struct page_sources *s, struct emit_options *options)
{
	options->source = read_source;
	options->source_ctx = s;
}
