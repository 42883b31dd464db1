/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * py_string.c - see py_string.h.
 *
 * The header is read once; if the string dies meanwhile the result has other characters or is a
 * fault, which the caller notices by reading the owner again.
 */
#include "python/values/py_string.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"

/* PyCompactUnicodeObject has 56 bytes, 72 free-threaded. */
#define HEADER_MAX 96
#define SYMBOL_FOR_NUL 0x2400
#define REPLACEMENT 0xfffd
#define ELLIPSIS 0x2026
#define UTF8_MAX 4

struct string_header {
	__u64 length; /* characters */
	__u32 kind; /* bytes per character: 1, 2, 4 */
	__u64 data_addr;
};

static bool header_fits(__s32 offset, size_t len)
{
	return offset >= 0 && (size_t)offset + len <= HEADER_MAX;
}

static int read_header(const struct memory *m, const struct py_offsets *offsets, __u64 str_addr,
		       bool any, struct string_header *ret)
{
	bool ascii, compact;
	__u8 raw[HEADER_MAX];
	__s64 length;
	__u32 state;
	size_t size;
	int err;

	if (!header_fits(offsets->unicode.state, sizeof(state)) ||
	    !header_fits(offsets->unicode.length, sizeof(length)) ||
	    offsets->unicode.ascii_size <= 0 || offsets->unicode.compact_size <= 0)
		return -ENOTSUP;
	if (!str_addr || str_addr % sizeof(void *))
		return -EINVAL;

	size = (size_t)offsets->unicode.state + sizeof(state);
	if (size < (size_t)offsets->unicode.length + sizeof(length))
		size = (size_t)offsets->unicode.length + sizeof(length);
	err = memory_read(m, str_addr, raw, size);
	if (err)
		return err;
	memcpy(&state, raw + offsets->unicode.state, sizeof(state));
	memcpy(&length, raw + offsets->unicode.length, sizeof(length));

	state >>= PYOFF_STRING_STATE_SHIFT(offsets);
	ret->kind = state & 7;
	compact = state >> 3 & 1;
	ascii = state >> 4 & 1;
	if ((!compact && !any) || length < 0 || (ascii && ret->kind != 1) ||
	    (ret->kind != 1 && ret->kind != 2 && ret->kind != 4))
		return -EINVAL;
	ret->length = (__u64)length;
	/* PyUnicodeObject.data, after the header of a compact string. */
	if (!compact)
		return memory_read(m, str_addr + (__u64)offsets->unicode.compact_size,
				   &ret->data_addr, sizeof(ret->data_addr));
	ret->data_addr = str_addr + (__u64)(ascii ? offsets->unicode.ascii_size :
						    offsets->unicode.compact_size);
	return 0;
}

static __u32 load_char(const __u8 *data, __u32 kind, size_t i)
{
	__u16 two;
	__u32 four;

	switch (kind) {
	case 1:
		return data[i];
	case 2:
		memcpy(&two, data + 2 * i, sizeof(two));
		return two;
	default:
		memcpy(&four, data + 4 * i, sizeof(four));
		return four;
	}
}

static char *put_utf8(char *out, __u32 c, bool raw)
{
	if (!c && raw) {
		*out++ = (char)0xc0;
		*out++ = (char)0x80;
		return out;
	}
	if (c == 0)
		c = SYMBOL_FOR_NUL;
	else if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff && !raw))
		c = REPLACEMENT;

	if (c < 0x80) {
		*out++ = (char)c;
		return out;
	}
	if (c < 0x800) {
		*out++ = (char)(0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			*out++ = (char)(0xe0 | c >> 12);
		} else {
			*out++ = (char)(0xf0 | c >> 18);
			*out++ = (char)(0x80 | (c >> 12 & 63));
		}
		*out++ = (char)(0x80 | (c >> 6 & 63));
	}
	*out++ = (char)(0x80 | (c & 63));
	return out;
}

static char *to_utf8(const __u8 *data, __u32 kind, size_t length, bool cut, bool raw)
{
	char *text = malloc(length * UTF8_MAX + UTF8_MAX + 1);
	char *fitted, *out = text;

	if (!text)
		return NULL;
	for (size_t i = 0; i < length; i++)
		out = put_utf8(out, load_char(data, kind, i), raw);
	if (cut)
		out = put_utf8(out, ELLIPSIS, raw);
	*out++ = '\0';
	fitted = realloc(text, (size_t)(out - text));
	return fitted ? fitted : text;
}

static int read_string(const struct memory *m, const struct py_offsets *offsets, __u64 str_addr,
		       bool any, char **ret)
{
	cleanup_free __u8 *data = NULL;
	struct string_header header;
	size_t length;
	char *text;
	int err;

	err = read_header(m, offsets, str_addr, any, &header);
	if (err)
		return err;
	length = header.length > PY_STRING_MAX ? PY_STRING_MAX : header.length;
	data = malloc(length * header.kind + 1);
	if (!data)
		return -ENOMEM;
	if (length) {
		err = memory_read(m, header.data_addr, data, length * header.kind);
		if (err)
			return err;
	}
	text = to_utf8(data, header.kind, length, length < header.length, any);
	if (!text)
		return -ENOMEM;
	*ret = text;
	return 0;
}

int py_string_read(const struct memory *m, const struct py_offsets *offsets, __u64 str_addr,
		   char **ret)
{
	return read_string(m, offsets, str_addr, false, ret);
}

int py_string_read_any(const struct memory *m, const struct py_offsets *offsets, __u64 str_addr,
		       char **ret)
{
	return read_string(m, offsets, str_addr, true, ret);
}
