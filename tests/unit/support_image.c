/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_image.c - see support_image.h.
 */
#include "support_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/python/fingerprint.h"

enum { GENERATION = 24, CODE_SIZE = 256, CO_VERSION = 92 };

/* CPython 3.14, GIL build, except for the interpreter state, which is smaller here. */
const struct py_offsets image_offsets = {
	.version = 0x030e0af0,
	.interp = { .id = 0, .next = 8, .threads_head = 16, .code_object_generation = GENERATION },
	.code = { .filename = 112,
		  .name = 120,
		  .qualname = 128,
		  .linetable = 136,
		  .firstlineno = 68,
		  .version = CO_VERSION,
		  .code_adaptive = 208,
		  .tlbc = PYOFF_ABSENT },
	.object = { .ob_type = 8, .tp_name = 24 },
	.unicode = { .state = 32, .length = 16, .ascii_size = 40, .compact_size = 56 },
	.bytes = { .ob_size = 16, .ob_sval = 32 },
};

static int read_image(void *ctx, __u64 addr, void *buf, size_t len)
{
	struct image *image = ctx;

	image->reads++;
	if (image->change_at && --image->change_at == 0)
		image->change(image, image->change_arg);
	if (image->fail_at && --image->fail_at == 0)
		return image->fail_with;
	if (addr < IMAGE_ADDR || addr - IMAGE_ADDR > IMAGE_SIZE ||
	    len > IMAGE_SIZE - (addr - IMAGE_ADDR))
		return -EFAULT;
	memcpy(buf, image->bytes + (addr - IMAGE_ADDR), len);
	return 0;
}

struct image *image_new(void)
{
	struct image *image = calloc(1, sizeof(*image));

	if (!image)
		abort();
	image->memory = (struct memory){ read_image, image };
	image->fail_with = -EFAULT;
	image->used = 256; /* holds the interpreter */
	image->code_type_addr = image_type(image, "code");
	return image;
}

void image_free(struct image *image)
{
	free(image);
}

void *image_at(struct image *image, __u64 addr)
{
	return image->bytes + (addr - IMAGE_ADDR);
}

__u64 image_alloc(struct image *image, size_t len)
{
	__u64 addr = IMAGE_ADDR + image->used;

	len = (len + 15) & ~(size_t)15;
	if (len > IMAGE_SIZE - image->used)
		abort();
	image->used += len;
	return addr;
}

static void put(struct image *image, __u64 addr, const void *value, size_t len)
{
	memcpy(image_at(image, addr), value, len);
}

static void put_u64(struct image *image, __u64 addr, __u64 value)
{
	put(image, addr, &value, sizeof(value));
}

void image_set_generation(struct image *image, __u64 generation)
{
	put_u64(image, IMAGE_INTERP + GENERATION, generation);
}

__u64 image_string(struct image *image, int kind, const void *data, size_t length)
{
	size_t width = kind ? (size_t)kind : 1, header = kind ? 56 : 40;
	__u64 addr = image_alloc(image, header + width * (length + 1));
	/* interned 1, kind, compact, ascii; in real strings, too, the higher bits are garbage. */
	__u32 state = 0xabcdef00 | 1 | (__u32)width << 2 | 1 << 5 | (kind ? 0 : 1) << 6;

	put_u64(image, addr + 16, length);
	put(image, addr + 32, &state, sizeof(state));
	put(image, addr + header, data, width * length);
	return addr;
}

__u64 image_ascii(struct image *image, const char *text)
{
	return image_string(image, 0, text, strlen(text));
}

__u64 image_bytes(struct image *image, const void *data, size_t len)
{
	__u64 addr = image_alloc(image, 33 + len);

	put_u64(image, addr + 16, len);
	put(image, addr + 32, data, len);
	return addr;
}

__u64 image_type(struct image *image, const char *name)
{
	__u64 addr = image_alloc(image, 416), name_addr = image_alloc(image, strlen(name) + 8);

	put(image, name_addr, name, strlen(name));
	put_u64(image, addr + 24, name_addr);
	return addr;
}

void image_put_code(struct image *image, __u64 addr, const struct image_code *code)
{
	put_u64(image, addr, 1); /* reference count */
	put_u64(image, addr + 8, image->code_type_addr);
	put_u64(image, addr + 112, code->filename_addr);
	put_u64(image, addr + 128, code->qualname_addr);
	put_u64(image, addr + 136, code->linetable_addr);
	put(image, addr + 68, &code->first_line, sizeof(code->first_line));
	put(image, addr + CO_VERSION, &code->version, sizeof(code->version));
}

__u64 image_code(struct image *image, const struct image_code *code)
{
	__u64 addr = image_alloc(image, CODE_SIZE);

	image_put_code(image, addr, code);
	return addr;
}

/* Without faults, and not counted. */
static int read_bytes(void *ctx, __u64 addr, void *buf, size_t len)
{
	struct image *image = ctx;

	if (addr < IMAGE_ADDR || addr - IMAGE_ADDR > IMAGE_SIZE ||
	    len > IMAGE_SIZE - (addr - IMAGE_ADDR))
		return -EFAULT;
	memcpy(buf, image->bytes + (addr - IMAGE_ADDR), len);
	return 0;
}

__u32 image_fingerprint(struct image *image, __u64 code_addr)
{
	struct memory memory = { read_bytes, image };

	return code_fingerprint(&memory, &image_offsets, image_at(image, code_addr));
}
