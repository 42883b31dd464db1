/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/page/packed.h"

#include <errno.h>

#include "base/data/cleanup.h"
#include "base/files/gzip.h"

#define PIECE (1U << 20)

static void put_base64(FILE *out, const __u8 *data, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < size; i += 3) {
		const size_t left = size - i;
		const __u32 three = (__u32)data[i] << 16 |
				    (left > 1 ? (__u32)data[i + 1] << 8 : 0) |
				    (left > 2 ? (__u32)data[i + 2] : 0);

		putc(digits[three >> 18], out);
		putc(digits[three >> 12 & 63], out);
		putc(left > 1 ? digits[three >> 6 & 63] : '=', out);
		putc(left > 2 ? digits[three & 63] : '=', out);
	}
}

static int pack(struct gzip *g, const struct bytes *b)
{
	int err = b->failed ? -ENOMEM : 0;

	for (size_t at = 0; at < b->len && !err; at += PIECE)
		err = gzip_put(g, b->data + at, b->len - at < PIECE ? b->len - at : PIECE);
	return err;
}

int put_packed(FILE *out, const struct bytes *columns, unsigned cnt)
{
	cleanup_free char *packed = NULL;
	struct gzip g = { 0 };
	size_t size = 0;
	FILE *to = open_memstream(&packed, &size);
	int err = to ? gzip_open(&g, to) : -ENOMEM;

	for (unsigned i = 0; i < cnt && !err; i++)
		err = pack(&g, &columns[i]);
	if (!err)
		err = gzip_end(&g);
	gzip_free(&g);
	if (to && fclose(to) && !err)
		err = -ENOMEM;
	if (!err)
		put_base64(out, (const __u8 *)packed, size);
	return err;
}
