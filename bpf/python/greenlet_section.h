/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * greenlet_section.h - the section of a sample with the parents of the thread's current greenlet
 * (greenlets.h).
 *
 * It finds greenlet's thread-local variable as the C library's __tls_get_addr() does: from the
 * thread's table of TLS blocks to the block of the module. A thread that has never used the
 * variable has no block, or nothing in it.
 *
 * Must hold: for a process without an entry the cost is one map lookup, and none if no process has
 * one. For a thread that has never used greenlet the cost is at most four words of memory.
 */
#ifndef KRAIT_BPF_PYTHON_GREENLET_SECTION_H
#define KRAIT_BPF_PYTHON_GREENLET_SECTION_H

#include "bpf/abi.h"
#include "bpf/bounds.h"
#include "bpf/python/greenlets.h"
#include "bpf/loops.h"
#include "bpf/map/procs.h"
#include "bpf/read.h"
#include "bpf/map/scratch.h"
#include "bpf/section.h"
#include "bpf/python/asyncio_section.h"
#include "bpf/python/walker.h"

/* greenlet marks a thread that never used it with this value (TThreadStateCreator.hpp). */
#define GREENLET_STATE_NONE 1

/*
 * Returns 0 and the address of { main greenlet, current one }, or of 0 if there is none; -1 if the
 * memory is not present.
 */
static __always_inline int greenlet_state(const struct greenlet_place *l, __u64 thread_ptr,
					  __u64 *ret)
{
	__u64 dtv_addr = 0, cnt = 0, block_addr = thread_ptr;

	*ret = 0;
	if (l->tls_module) {
		if (read_user_u64(&dtv_addr, thread_ptr + (__s64)l->dtv_at) ||
		    read_user_u64(&cnt, dtv_addr + (__s64)l->dtv_count))
			return -1;
		if (cnt < l->tls_module)
			return 0;
		if (read_user_u64(&block_addr, dtv_addr + l->dtv_entry))
			return -1;
		if (!block_addr || block_addr & TAG_BITS)
			return 0; /* not allocated yet: TLS_DTV_UNALLOCATED */
	}
	if (read_user_u64(ret, block_addr + (__s64)l->state_at))
		return -1;
	if (*ret == GREENLET_STATE_NONE)
		*ret = 0;
	return 0;
}

/*
 * Looks up the thread's current greenlet; false if greenlet does not know the thread. The main
 * greenlet counts, too: its thread may be about to leave it for another one whose frames are
 * already in place.
 */
static __always_inline bool greenlets_begin(struct scratch *s, const struct py_offsets *off,
					    const struct greenlet_place *l)
{
	__u64 state_addr = 0, words[2] = { 0, 0 }; /* main greenlet, current one */
	__u64 leaf_addr = s->record.cnt[SECTION_FRAMES] ? s->frames[0].frame_addr : 0;
	__u64 *out = section_room(s, 0, FRAME_WORDS);

	if (!out)
		return false;
	if (!greenlet_state(l, s->record.thread_ptr, &state_addr)) {
		if (!state_addr)
			return false;
		if (read_user(words, sizeof(words), state_addr))
			words[1] = 0;
	}
	greenlet_walk_begin(&s->greenlets, &s->walker, off, l, words[1], leaf_addr,
			    s->record.reason == REASON_SWITCHING, (struct frame *)out);
	return true;
}

/* Returns the number of parts found. */
static __always_inline int walk_parents(__u32 memory, __u32 layout, bool has_loop)
{
	const struct greenlet_place *l;
	struct loop_ctx c;
	struct scratch *s;
	__u64 *part;
	__u32 pid;

	if (!loop_ctx_of(&c, memory, layout))
		return 0;
	s = c.s;
	pid = s->record.pid;
	l = bpf_map_lookup_elem(&greenlet_places, &pid);
	if (!l || !s->record.tstate_addr || !same_start(l->start_ns, s->proc.start_ns) ||
	    !greenlets_begin(s, c.off, l))
		return 0;
	walk_greenlets(&c, layout, has_loop);
	if (!s->greenlets.cnt)
		return 0;
	greenlet_walk_stop(&s->greenlets);
	part = section_room(s, FRAME_WORDS * s->greenlets.at, FRAME_WORDS);
	if (part)
		greenlet_settle(&s->greenlets, (struct frame *)part);
	return s->greenlets.cnt;
}

GLOBAL_FLAVOURS(walk_parents, (__u32 memory, __u32 layout), memory, layout)

static __always_inline void take_greenlets(struct scratch *s, bool has_loop)
{
	__u32 cnt = CALL_FLAVOUR(has_loop, walk_parents, s->index, s->proc.layout);

	append_parts(s, SECTION_GREENLETS, at_most(cnt, KRAIT_MAX_GREENLET_PARTS), has_loop);
}

#endif /* KRAIT_BPF_PYTHON_GREENLET_SECTION_H */
