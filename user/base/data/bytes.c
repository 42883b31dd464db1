/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/data/bytes.h"

#include <stdlib.h>
#include <string.h>

#define BYTES_MIN_CAP 256

void bytes_free(struct bytes *b)
{
	free(b->data);
	*b = (struct bytes){ 0 };
}

/* Returns where len new bytes go, or NULL. */
static __u8 *grow(struct bytes *b, size_t len)
{
	size_t cap = b->cap ? b->cap : BYTES_MIN_CAP;
	__u8 *data;

	if (b->failed)
		return NULL;
	while (cap - b->len < len)
		cap *= 2;
	if (cap != b->cap) {
		data = realloc(b->data, cap);
		if (!data) {
			bytes_free(b);
			b->failed = true;
			return NULL;
		}
		b->data = data;
		b->cap = cap;
	}
	b->len += len;
	return b->data + b->len - len;
}

void bytes_put(struct bytes *b, const void *data, size_t len)
{
	__u8 *to = grow(b, len);

	if (to && len)
		memcpy(to, data, len);
}

void bytes_text(struct bytes *b, const char *text)
{
	bytes_put(b, text, strlen(text) + 1);
}

void bytes_fill(struct bytes *b, __u8 value, size_t cnt)
{
	__u8 *to = grow(b, cnt);

	if (to)
		memset(to, value, cnt);
}

void bytes_align(struct bytes *b, size_t size)
{
	bytes_fill(b, 0, (size - b->len % size) % size);
}

void bytes_u8(struct bytes *b, __u8 value)
{
	bytes_put(b, &value, sizeof(value));
}

void bytes_u16(struct bytes *b, __u16 value)
{
	bytes_put(b, &value, sizeof(value));
}

void bytes_u32(struct bytes *b, __u32 value)
{
	bytes_put(b, &value, sizeof(value));
}

void bytes_u64(struct bytes *b, __u64 value)
{
	bytes_put(b, &value, sizeof(value));
}

void bytes_uleb(struct bytes *b, __u64 value)
{
	do {
		__u8 byte = value & 0x7f;

		value >>= 7;
		bytes_u8(b, byte | (value ? 0x80 : 0));
	} while (value);
}

void bytes_sleb(struct bytes *b, __s64 value)
{
	bool more = true;

	while (more) {
		__u8 byte = value & 0x7f;

		value >>= 7;
		more = !((value == 0 && !(byte & 0x40)) || (value == -1 && (byte & 0x40)));
		bytes_u8(b, byte | (more ? 0x80 : 0));
	}
}

void bytes_patch_u16(struct bytes *b, size_t at, __u16 value)
{
	if (!b->failed)
		memcpy(b->data + at, &value, sizeof(value));
}

void bytes_patch_u32(struct bytes *b, size_t at, __u32 value)
{
	if (!b->failed)
		memcpy(b->data + at, &value, sizeof(value));
}
