/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_compressed.c - any bytes in compressed records, as zstd's or as what zstd was given, which may be damaged then: no
 * more comes out than was declared, and everything that comes out is a record.
 */
#include <errno.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "capture/perfdata/compressed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define EXPANDS_TO (1U << 20)

/* Feeds it in two pieces. */
static void unpack(const void *data, size_t size, size_t split)
{
	const size_t sizes[] = { split, size - split };
	struct unpacker *u;
	const __u8 *at = data;

	if (unpacker__new(&u))
		abort();
	for (int i = 0; i < 2; at += sizes[i++]) {
		const __u8 *record;
		size_t record_size, total = 0;
		int result;

		unpacker__feed(u, at, sizes[i], EXPANDS_TO);
		while ((result = unpacker__next(u, &record, &record_size)) == 1) {
			__u16 said;

			memcpy(&said, record + 6, sizeof(said));
			if (record_size != said || record_size < 8)
				abort();
			total += record_size;
		}
		/* What was left of a torn record is part of the next one. */
		if (total > EXPANDS_TO + 65536)
			abort();
		if (result < 0)
			break;
	}
	unpacker__free(u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t bound, packed;
	void *to;

	if (size < 3)
		return 0;
	if (data[0] & 1) {
		unpack(data + 2, size - 2, data[1] % (size - 2));
		return 0;
	}
	bound = ZSTD_compressBound(size - 2);
	to = malloc(bound);
	packed = to ? ZSTD_compress(to, bound, data + 2, size - 2, 1) : 0;
	if (ZSTD_isError(packed))
		abort();
	/* Damaged in a place of its own choice: by chance alone hardly any bytes are zstd's. */
	if (data[0] & 2)
		((uint8_t *)to)[data[2] * 257U % packed] ^= data[0];
	unpack(to, packed, data[1] % packed);
	free(to);
	return 0;
}
