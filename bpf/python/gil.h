/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gil.h - who holds the GIL of the thread's interpreter, and whether garbage is being collected.
 *
 * Other threads change these words while we read them, so only statements about the interrupted
 * thread are certain: if it holds the GIL, nobody else can release it, and it is not running. A
 * thread waits for the GIL if it sleeps on a futex inside the GIL's own structure, which contains
 * the GIL's lock and condition.
 */
#ifndef KRAIT_BPF_PYTHON_GIL_H
#define KRAIT_BPF_PYTHON_GIL_H

#include "bpf/abi.h"
#include "bpf/read.h"

struct gil {
	READ_MEMBER
	__u64 addr; /* struct _gil_runtime_state; 0 unknown */
	__u64 size;
	__u64 holder_addr; /* the thread state that held it last */
	__u32 locked;
	__u32 pad_;
};

/* interp_addr: 0 if the thread has no state. Returns 0 or -1. */
static __always_inline int find_gil(const struct py_offsets *off, __u64 runtime_addr,
				    __u64 interp_addr, struct gil *ret)
{
	ret->addr = 0;
	if (off->runtime.gil != PYOFF_ABSENT)
		ret->addr = runtime_addr + off->runtime.gil;
	else if (!interp_addr || off->interp.gil == PYOFF_ABSENT ||
		 read_from_u64(ret, &ret->addr, interp_addr + off->interp.gil))
		return -1;
	if (!ret->addr || ret->addr & 7)
		return -1;
	if (off->flags & PYOFF_FREE_THREADED &&
	    (read_from(ret, &ret->locked, sizeof(ret->locked), ret->addr) || !ret->locked))
		return -1; /* a GIL exists but is not enabled */
	ret->size = PYOFF_GIL_SIZE(off);
	/* last_holder and locked are adjacent. */
	return read_from(ret, &ret->holder_addr, 12, ret->addr + PYOFF_GIL_HOLDER(off));
}

static __always_inline bool gil_is_held_by(const struct gil *gil, __u64 tstate_addr)
{
	return gil->locked && tstate_addr && gil->holder_addr == tstate_addr;
}

static __always_inline bool is_collecting(const struct gil *gil, const struct py_offsets *off,
					  __u64 runtime_addr, __u64 interp_addr)
{
	__u64 addr = off->runtime.gc_collecting != PYOFF_ABSENT ?
			     runtime_addr + off->runtime.gc_collecting :
		     interp_addr && off->interp.gc_collecting != PYOFF_ABSENT ?
			     interp_addr + off->interp.gc_collecting :
			     0;
	__u32 collecting = 0;

	return addr && !read_from(gil, &collecting, sizeof(collecting), addr) && collecting;
}

/* The frame in which the collecting thread collects garbage; 0 if unknown. */
static __always_inline __u64 collecting_frame(const struct gil *gil, const struct py_offsets *off,
					      __u64 interp_addr)
{
	__u64 frame_addr = 0;

	if (!interp_addr || off->interp.gc_frame == PYOFF_ABSENT ||
	    read_from_u64(gil, &frame_addr, interp_addr + off->interp.gc_frame))
		return 0;
	return frame_addr;
}

#endif /* KRAIT_BPF_PYTHON_GIL_H */
