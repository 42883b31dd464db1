/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bytes.h - a growing run of bytes, for formats that are put together field by field.
 *
 * Numbers are in the byte order of the machine, as the formats written here want them.
 *
 * Must hold: when memory runs out, all that is put in is dropped and failed is set; so callers look
 * once, at the end.
 */
#ifndef KRAIT_UTIL_BYTES_H
#define KRAIT_UTIL_BYTES_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* All zero is an empty one. */
struct bytes {
	__u8 *data;
	size_t len, cap;
	bool failed;
};

void bytes_free(struct bytes *b);
#define cleanup_bytes __attribute__((cleanup(bytes_free)))

void bytes_put(struct bytes *b, const void *data, size_t len);
/* With its NUL. */
void bytes_text(struct bytes *b, const char *text);
void bytes_fill(struct bytes *b, __u8 value, size_t cnt);
/* Zeroes up to the next multiple of size. */
void bytes_align(struct bytes *b, size_t size);

void bytes_u8(struct bytes *b, __u8 value);
void bytes_u16(struct bytes *b, __u16 value);
void bytes_u32(struct bytes *b, __u32 value);
void bytes_u64(struct bytes *b, __u64 value);
/* DWARF's numbers of variable length. */
void bytes_uleb(struct bytes *b, __u64 value);
void bytes_sleb(struct bytes *b, __s64 value);

/* Overwrites what was put in before. */
void bytes_patch_u16(struct bytes *b, size_t at, __u16 value);
void bytes_patch_u32(struct bytes *b, size_t at, __u32 value);

#endif /* KRAIT_UTIL_BYTES_H */
