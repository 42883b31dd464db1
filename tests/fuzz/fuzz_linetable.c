/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_linetable.c - any bytes as a line table: index and decoder must agree on every entry.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "python/code/linetable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct linetable_entry entry;
	struct linetable_cursor c;
	struct linetable t;
	__u8 *bytes = malloc(size + !size);
	int first_line = size ? (int8_t)data[0] * 16777216 : 1;

	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	if (linetable_init(&t, bytes, (__u32)size, first_line))
		return 0;
	linetable_cursor_init(&c, data, (__u32)size, first_line);
	while (linetable_next(&c, &entry)) {
		struct source_position p = linetable_lookup(&t, entry.unit_end - 1);

		if (memcmp(&p, &entry.position, sizeof(p)))
			abort();
	}
	linetable_deinit(&t);
	return 0;
}
