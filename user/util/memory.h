/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.h - an interface for reading foreign memory.
 *
 * The target's memory is hostile: a reader checks every address and length from there before use.
 * Parsers take a struct memory and never a pid, so tests and fuzzers can hand them a byte array.
 */
#ifndef KRAIT_UTIL_MEMORY_H
#define KRAIT_UTIL_MEMORY_H

#include <linux/types.h>
#include <stddef.h>

struct memory {
	/* Reads exactly len bytes at addr into buf. Returns 0, -EFAULT, -ESRCH or -EPERM. */
	int (*read)(void *ctx, __u64 addr, void *buf, size_t len);
	void *ctx;
};

static inline int memory_read(const struct memory *m, __u64 addr, void *buf, size_t len)
{
	return m->read(m->ctx, addr, buf, len);
}

#endif /* KRAIT_UTIL_MEMORY_H */
