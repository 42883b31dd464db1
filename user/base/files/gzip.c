/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/files/gzip.h"

#include <errno.h>

#include "base/text/stream.h"

/* The largest window; 16 selects gzip's header and trailer instead of zlib's. */
#define WINDOW_BITS (15 + 16)
#define MEMORY_LEVEL 8

int gzip_open(struct gzip *g, FILE *out)
{
	g->out = out;
	g->is_open = deflateInit2(&g->zip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS,
				  MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK;
	return g->is_open ? 0 : -ENOMEM;
}

void gzip_free(struct gzip *g)
{
	if (g->is_open)
		deflateEnd(&g->zip);
	g->is_open = false;
}

static int put(struct gzip *g, const void *data, size_t size, int flush)
{
	unsigned char buf[16384];
	int result;

	g->zip.next_in = (void *)(size_t)data;
	g->zip.avail_in = (unsigned)size;
	do {
		size_t n;

		g->zip.next_out = buf;
		g->zip.avail_out = sizeof(buf);
		result = deflate(&g->zip, flush);
		n = sizeof(buf) - g->zip.avail_out;
		errno = 0;
		if (result == Z_STREAM_ERROR || fwrite(buf, 1, n, g->out) != n)
			return stream_cause();
	} while (!g->zip.avail_out);
	return 0;
}

int gzip_put(struct gzip *g, const void *data, size_t size)
{
	return put(g, data, size, Z_NO_FLUSH);
}

int gzip_end(struct gzip *g)
{
	return put(g, "", 0, Z_FINISH);
}
