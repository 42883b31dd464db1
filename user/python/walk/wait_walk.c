/* SPDX-License-Identifier: BSD-2-Clause */
#include "python/walk/wait_walk.h"

#include "bpf/read.h"
#include "bpf/python/gil.h"
#include "bpf/python/nogil.h"

/*
 * While the world is stopped, threads that wait for something else are suspended, too: only one that is parked on its
 * own state waits for the world.
 */
static __u32 nogil_flags(const struct wait_walk *x, const struct gil *r, __u64 futex_addr)
{
	const struct py_offsets *off = x->offsets;

	if (!x->tstate_addr || !(off->flags & PYOFF_FREE_THREADED))
		return 0;
	if (nogil_is_parked(r, x->tstate_addr + NOGIL_STATE(off), futex_addr))
		return WAIT_WORLD;
	return nogil_section(r, off, x->tstate_addr);
}

__u32 wait_walk_flags(const struct wait_walk *x, const struct wait_facts *facts)
{
	struct gil gil = { .memory = x->memory };
	__u32 flags;

	if (facts->syscall < 0)
		return 0;
	flags = nogil_flags(x, &gil, facts->args[0]);
	if (!find_gil(x->offsets, x->runtime_addr, x->interp_addr, &gil) &&
	    facts->args[0] - gil.addr < gil.size)
		flags |= WAIT_GIL;
	return flags;
}
