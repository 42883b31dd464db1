/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_bytes.h - a byte array as a process's memory: struct memory { read_bytes, &(struct bytes)
 * }.
 */
#ifndef KRAIT_TESTS_SUPPORT_BYTES_H
#define KRAIT_TESTS_SUPPORT_BYTES_H

#include <errno.h>
#include <linux/types.h>
#include <stddef.h>
#include <string.h>

struct bytes {
	__u64 addr; /* of the first byte */
	const __u8 *at;
	size_t size;
};

static inline int read_bytes(void *ctx, __u64 addr, void *buf, size_t len)
{
	const struct bytes *b = ctx;

	if (addr < b->addr || addr - b->addr > b->size || len > b->size - (addr - b->addr))
		return -EFAULT;
	memcpy(buf, b->at + (addr - b->addr), len);
	return 0;
}

#endif /* KRAIT_TESTS_SUPPORT_BYTES_H */
