/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bytes.h - a growing byte buffer, for formats that are built field by field.
 *
 * Numbers have the machine's byte order, as the formats here want.
 *
 * Must hold: if memory runs out, further input is dropped and failed is set, so callers need to
 * check only once, at the end.
 */
#ifndef KRAIT_BASE_DATA_BYTES_H
#define KRAIT_BASE_DATA_BYTES_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* Initially all zero: empty. */
struct bytes {
	__u8 *data;
	size_t len, cap;
	bool failed;
};

void bytes_free(struct bytes *b);
#define cleanup_bytes __attribute__((cleanup(bytes_free)))

void bytes_put(struct bytes *b, const void *data, size_t len);
/* Appends the text with its NUL. */
void bytes_text(struct bytes *b, const char *text);
void bytes_fill(struct bytes *b, __u8 value, size_t cnt);
/* Appends zeroes up to the next multiple of size. */
void bytes_align(struct bytes *b, size_t size);

void bytes_u8(struct bytes *b, __u8 value);
void bytes_u16(struct bytes *b, __u16 value);
void bytes_u32(struct bytes *b, __u32 value);
void bytes_u64(struct bytes *b, __u64 value);
/* Appends DWARF's variable-length numbers. */
void bytes_uleb(struct bytes *b, __u64 value);
void bytes_sleb(struct bytes *b, __s64 value);

/* Overwrites earlier bytes. */
void bytes_patch_u16(struct bytes *b, size_t at, __u16 value);
void bytes_patch_u32(struct bytes *b, size_t at, __u32 value);

#endif /* KRAIT_BASE_DATA_BYTES_H */
