/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * read.h - the one primitive that reads the target's memory, and typed access to what it read.
 *
 * In the kernel it reads the interrupted thread's own user memory and never sleeps: memory that is
 * not present is a fault. On the host, the caller that begins a walk says whose memory it reads: a
 * live process, a core file, or a test's image with faults.
 */
#ifndef KRAIT_BPF_READ_H
#define KRAIT_BPF_READ_H

#include "bpf/arch.h"
#include "bpf/bounds.h"
#include "bpf/offsets.h"

#ifndef __bpf__
#include <string.h>

#include "base/data/memory.h"

/* The memory to read from: set this before anything else. */
#define READ_MEMBER const struct memory *memory;
#define read_from(x, dst, size, addr) memory_read((x)->memory, addr, dst, size)

/* Used without such a member; the test supplies it. Returns 0 or -EFAULT. */
int krait_host_read(void *dst, __u32 size, __u64 addr);

static __always_inline int read_user(void *dst, __u32 size, __u64 addr)
{
	return krait_host_read(dst, size, addr);
}

static __always_inline void copy_words(__u64 *dst, const __u64 *src, __u32 cnt, __u32 max)
{
	memcpy(dst, src, (cnt < max ? cnt : max) * sizeof(*dst));
}
#else
#define READ_MEMBER
#define read_from(x, dst, size, addr) read_user(dst, size, addr)

static __always_inline int read_user(void *dst, __u32 size, __u64 addr)
{
	long err = bpf_probe_read_user(dst, size, (const void *)READ_ADDR(addr));

	keep_apart(err);
	return err;
}

/* Copies our own memory, at most max words, by a helper: clang would unroll a copy of this size. */
static __always_inline void copy_words(__u64 *dst, const __u64 *src, __u32 cnt, __u32 max)
{
	if (cnt > max)
		cnt = max;
	bpf_probe_read_kernel(dst, cnt * sizeof(*dst), src);
}
#endif

static __always_inline int read_user_u64(__u64 *dst, __u64 addr)
{
	return read_user(dst, sizeof(*dst), addr);
}

#define read_from_u64(x, dst, addr) read_from(x, dst, sizeof(__u64), addr)

/*
 * A window is the start of a C struct of the target, read at once. Offsets come from a map, so the
 * verifier needs the mask; user space has refused layouts in which it would change anything.
 */
#define WINDOW_SIZE(used) ((used) + sizeof(__u64))
#define THREAD_WINDOW_MASK (KRAIT_THREAD_WINDOW - 1)
#define FRAME_WINDOW_MASK 127
#define CODE_WINDOW_MASK 255
#define CFRAME_WINDOW_MASK 31

#ifndef __bpf__
#define DEFINE_WINDOW_GET(name, type)                                                              \
	static __always_inline type window_##name(const __u8 *window, __s32 offset, __u32 mask)    \
	{                                                                                          \
		type value;                                                                        \
		memcpy(&value, window + ((__u32)offset & mask), sizeof(value));                    \
		return value;                                                                      \
	}
#else
#define DEFINE_WINDOW_GET(name, type)                                                              \
	static __always_inline type window_##name(const __u8 *window, __s32 offset, __u32 mask)    \
	{                                                                                          \
		return *(const type *)(window + ((__u32)offset & mask));                           \
	}
#endif
DEFINE_WINDOW_GET(u64, __u64)
DEFINE_WINDOW_GET(u32, __u32)
DEFINE_WINDOW_GET(u8, __u8)

#endif /* KRAIT_BPF_READ_H */
