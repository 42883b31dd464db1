/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_object.c - variables of a frame, with the input as memory: it repeats throughout the address
 * space except for the upper half, which is not present.
 */
#include <linux/types.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "python/values/frame_locals.h"

static const uint8_t *bytes;
static size_t byte_cnt;

static int read_input(void *ctx, __u64 addr, void *dst, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((__u8 *)dst)[i] = bytes[(addr + i) % byte_cnt];
	return addr >> 63 ? -EFAULT : 0;
}

static bool check_local(void *ctx, const char *name, const char *value, bool changed)
{
	if (strlen(value) > OBJECT_TEXT_MAX + 4)
		abort();
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct memory input = { .read = read_input };
	struct py_offsets offsets = {
		.object = { .ob_type = 8, .tp_name = 24 },
		.unicode = { .state = 32, .length = 16, .ascii_size = 40, .compact_size = 56 },
		.bytes = { .ob_size = 16, .ob_sval = 32 },
		.frame = { .localsplus = 80 },
	};
	struct object_layout layout;
	struct frame frame = { .code_addr = 8, .frame_addr = 16 };
	static struct object_text text;

	if (size < 2)
		return 0;
	/* 3.8 to 3.15 */
	offsets.version = 0x03080000 + ((__u32)(data[0] & 7) << 16);
	if (data[0] & 8) {
		offsets.flags |= PYOFF_FREE_THREADED;
		offsets.object.ob_type = 24;
		offsets.object.tp_name = 40;
	}
	bytes = data + 1;
	byte_cnt = size - 1;
	object_layout_of(&layout, &offsets);
	text.layout = &layout;
	text.memory = &input;
	for (__u64 addr = 0; addr < 64; addr += 8)
		object_text_make(&text, addr + 8);
	frame_locals(&layout, &input, &input, &frame, check_local, NULL);
	return 0;
}
