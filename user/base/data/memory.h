/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.h - an interface for reading foreign memory.
 *
 * The target's memory is hostile: a reader checks every address and length from there before use.
 * Parsers take a struct memory and never a pid, so tests and fuzzers can hand them a byte array.
 */
#ifndef KRAIT_BASE_DATA_MEMORY_H
#define KRAIT_BASE_DATA_MEMORY_H

#include <linux/types.h>
#include <stddef.h>

#define MEMORY_TRAIL_MAX 3

/*
 * What a reader of an object will need: len bytes of the object, and up to size bytes of what each
 * pointer at an offset in it leads to.
 */
struct memory_trail {
	__u32 len;
	__u32 cnt;
	struct {
		__u32 offset, size;
	} to[MEMORY_TRAIL_MAX];
};

struct memory {
	/* Reads exactly len bytes at addr into buf. Returns 0, -EFAULT, -ESRCH or -EPERM. */
	int (*read)(void *ctx, __u64 addr, void *buf, size_t len);
	void *ctx;
	/*
	 * Where each read is a message to another process: reads all of that now, at once, and
	 * answers later reads from it, until the next call; trail NULL: only ends that. May be NULL.
	 */
	void (*expect)(void *ctx, __u64 addr, const struct memory_trail *trail);
};

static inline int memory_read(const struct memory *m, __u64 addr, void *buf, size_t len)
{
	return m->read(m->ctx, addr, buf, len);
}

static inline void memory_expect(const struct memory *m, __u64 addr,
				 const struct memory_trail *trail)
{
	if (m->expect)
		m->expect(m->ctx, addr, trail);
}

#endif /* KRAIT_BASE_DATA_MEMORY_H */
