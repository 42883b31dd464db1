/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support_raw.h"

size_t raw_record_begin(struct bytes *b, __u32 type, __u16 misc)
{
	bytes_u32(b, type);
	bytes_u16(b, misc);
	bytes_u16(b, 0);
	return b->len - 8;
}

void raw_record_end(struct bytes *b, size_t start)
{
	bytes_patch_u16(b, start + 6, (__u16)(b->len - start));
}

void raw_record_unknown(struct bytes *b, __u64 value)
{
	size_t start = raw_record_begin(b, RAW_UNKNOWN, 3);

	bytes_u64(b, value);
	raw_record_end(b, start);
}

FILE *raw_file(const struct bytes *b)
{
	FILE *f = tmpfile();

	assert_int_equal(fwrite(b->data, 1, b->len, f), b->len);
	rewind(f);
	return f;
}

void raw_file_read(FILE *f, struct bytes *ret)
{
	size_t size = (fseek(f, 0, SEEK_END), (size_t)ftell(f));

	bytes_fill(ret, 0, size);
	rewind(f);
	assert_int_equal(fread(ret->data + ret->len - size, 1, size, f), size);
	rewind(f);
}
