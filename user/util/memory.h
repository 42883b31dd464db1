/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.h - somebody else's memory as something that can be read.
 *
 * The target's memory is hostile: a reader checks every address and length that it takes from
 * there before it uses them. Parsers take a struct memory and never a pid, so that tests and
 * fuzzers hand them a byte array.
 */
#ifndef KRAIT_UTIL_MEMORY_H
#define KRAIT_UTIL_MEMORY_H

#include <linux/types.h>
#include <stddef.h>

struct memory {
	/* Reads exactly len bytes at addr into buf. 0, or -EFAULT, -ESRCH, -EPERM. */
	int (*read)(void *ctx, __u64 addr, void *buf, size_t len);
	void *ctx;
};

static inline int memory_read(const struct memory *m, __u64 addr, void *buf, size_t len)
{
	return m->read(m->ctx, addr, buf, len);
}

#endif /* KRAIT_UTIL_MEMORY_H */
