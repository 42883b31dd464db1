/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_py_string.c - any bytes as a PyUnicode. The first byte picks the layout.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "python/values/py_string.h"

#define ADDR 0x10000

struct input {
	const uint8_t *data;
	size_t size;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_input(void *ctx, __u64 addr, void *buf, size_t len)
{
	const struct input *in = ctx;

	if (addr < ADDR || addr - ADDR > in->size || len > in->size - (addr - ADDR))
		return -EFAULT;
	memcpy(buf, in->data + (addr - ADDR), len);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct py_offsets layouts[] = {
		{ .version = 0x030e00f0, .unicode = { 32, 16, 40, 56 } },
		{ .version = 0x030e00f0,
		  .flags = PYOFF_FREE_THREADED,
		  .unicode = { 48, 32, 56, 72 } },
	};
	struct input in = { data + 1, size - 1 };
	struct memory memory = { read_input, &in };
	char *text;

	if (!size)
		return 0;
	if (!py_string_read(&memory, &layouts[data[0] & 1], ADDR, &text)) {
		if (strlen(text) > 4 * PY_STRING_MAX + 3)
			abort();
		free(text);
	}
	return 0;
}
