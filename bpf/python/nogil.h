/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * nogil.h - what a thread of a free-threaded interpreter waits for: the end of a stop-the-world by
 * another thread, or an object's lock.
 *
 * PyThreadState (Include/cpython/pystate.h, 3.13 to 3.15) has after _status: [int holds_gil, from
 * 3.14 on; int gil_requested, from 3.15 on;] int _whence; int state, which is _Py_THREAD_SUSPENDED
 * while the world is stopped (Include/internal/pycore_pystate.h). After native_thread_id it has
 * delete_later and critical_section: the innermost PyCriticalSection {_cs_prev, _cs_mutex}, with
 * two tag bits. Its mutex is NULL while the thread waits for the lock
 * (_PyCriticalSection_BeginSlow() and _PyCriticalSection_Resume(), Python/critical_section.c).
 *
 * Must hold: what cannot be read counts as neither.
 */
#ifndef KRAIT_BPF_PYTHON_NOGIL_H
#define KRAIT_BPF_PYTHON_NOGIL_H

#include "bpf/abi.h"
#include "bpf/python/gil.h"
#include "bpf/read.h"

#define NOGIL_STATE(off)                                                                           \
	((off)->thread.status + ((off)->version >= 0x030f0000 ? 16 :                               \
				 (off)->version >= 0x030e0000 ? 12 :                               \
								8))
#define NOGIL_SUSPENDED 2
#define NOGIL_SECTION(off) ((off)->thread.native_thread_id + 16)
#define NOGIL_SECTION_TAGS 3ULL
#define NOGIL_SECTION_MUTEX 8

/*
 * Was the thread parked on its own state, that is, waiting for the world to restart
 * (tstate_wait_attach(), Python/pystate.c)? Then its C stack has a struct wait_entry {park_arg,
 * addr, sema, ...} (Python/parking_lot.c, 3.13). When the thread comes back its state no longer
 * says "suspended", but the entry is still there, and the futex that it slept on is the first
 * member of the semaphore. state_addr: the address of that state. futex_addr: the system call's
 * first argument.
 */
static __always_inline bool nogil_is_parked(const struct gil *r, __u64 state_addr, __u64 futex_addr)
{
	__u64 parked_addr = 0;

	return state_addr && futex_addr &&
	       !read_from_u64(r, &parked_addr, futex_addr - sizeof(__u64)) &&
	       parked_addr == state_addr;
}

/* Does it wait for an object's lock? Returns enum wait_flag. */
static __always_inline __u32 nogil_section(const struct gil *r, const struct py_offsets *off,
					   __u64 tstate_addr)
{
	__u64 section_addr = 0, mutex_addr = 0;

	if (read_from_u64(r, &section_addr, tstate_addr + NOGIL_SECTION(off)))
		return 0;
	section_addr &= ~NOGIL_SECTION_TAGS;
	if (!section_addr || read_from_u64(r, &mutex_addr, section_addr + NOGIL_SECTION_MUTEX) ||
	    mutex_addr)
		return 0;
	return WAIT_SECTION;
}

/* r: whose memory to read. Returns enum wait_flag. */
static __always_inline __u32 nogil_wait(const struct gil *r, const struct py_offsets *off,
					__u64 tstate_addr)
{
	__u32 state = 0;

	if (!tstate_addr || !(off->flags & PYOFF_FREE_THREADED))
		return 0;
	if (!read_from(r, &state, sizeof(state), tstate_addr + NOGIL_STATE(off)) &&
	    state == NOGIL_SUSPENDED)
		return WAIT_WORLD;
	return nogil_section(r, off, tstate_addr);
}

#endif /* KRAIT_BPF_PYTHON_NOGIL_H */
