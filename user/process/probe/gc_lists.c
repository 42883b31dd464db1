/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/probe/gc_lists.h"

#include <errno.h>

#include "process/memory/page_cache.h"
#include "base/data/memory.h"

/* Flags in the lowest bits of a link. */
#define LINK_MARKS 3ULL
/* A head is aligned just enough for those flags; from 3.13.18 on not more. */
#define HEAD_ALIGN 4ULL
/* The two links before an object. */
#define LINKS_SIZE 16
/* How far before the member `collecting` to look: generations, their statistics, two pointers. */
#define HEADS_BYTES 256
/* How often to read a list whose links are inconsistent. */
#define TRIES 6
#define OBJECTS_MAX (64U << 20)

enum walked { WHOLE, BROKEN, ENOUGH };

static int read_links(const struct memory *memory, __u64 addr, __u64 links[2])
{
	if (!addr || addr % HEAD_ALIGN || memory_read(memory, addr, links, LINKS_SIZE))
		return -EFAULT;
	links[0] &= ~LINK_MARKS;
	links[1] &= ~LINK_MARKS;
	return 0;
}

static bool is_head(const struct memory *memory, __u64 addr)
{
	__u64 links[2], next[2], prev[2];

	/* An empty list points to itself: there is nothing in it. */
	return !read_links(memory, addr, links) && links[0] != addr && links[1] != addr &&
	       !read_links(memory, links[0], next) && next[1] == addr &&
	       !read_links(memory, links[1], prev) && prev[0] == addr;
}

/* side 0: from its beginning; 1: from its end. */
static enum walked walk_list(const struct gc_lists *x, __u64 head_addr, int side)
{
	const struct memory *memory = page_cache__memory(x->cache);
	const __u64 type_off = LINKS_SIZE + (__u64)x->offsets->object.ob_type;
	__u64 links[2], from = head_addr, type_addr;

	page_cache__clear(x->cache);
	if (read_links(memory, head_addr, links))
		return BROKEN;
	for (__u32 i = 0; links[side] != head_addr; i++) {
		__u64 addr = links[side];

		if (i == OBJECTS_MAX || read_links(memory, addr, links) || links[!side] != from ||
		    memory_read(memory, addr + type_off, &type_addr, sizeof(type_addr)))
			return BROKEN;
		if (!x->each(x->ctx, addr + LINKS_SIZE, type_addr))
			return ENOUGH;
		from = addr;
	}
	return WHOLE;
}

static enum walked walk_until_whole(const struct gc_lists *x, __u64 head_addr)
{
	enum walked outcome = BROKEN;

	for (int i = 0; i < TRIES && outcome == BROKEN; i++)
		outcome = walk_list(x, head_addr, i % 2);
	return outcome;
}

int gc_lists_walk(const struct gc_lists *x, __u64 runtime_addr, __u64 interp_addr)
{
	const struct py_offsets *off = x->offsets;
	__u64 end = off->interp.gc_collecting != PYOFF_ABSENT ?
			    interp_addr + (__u64)off->interp.gc_collecting :
			    runtime_addr + (__u64)off->runtime.gc_collecting;
	enum walked outcome;
	bool broken = false, found = false;
	__u32 collecting;

	if (off->flags & PYOFF_FREE_THREADED || (off->interp.gc_collecting == PYOFF_ABSENT &&
						 off->runtime.gc_collecting == PYOFF_ABSENT))
		return -ENOTSUP;
	/* During a collection some lists have their heads on its stack. */
	if (memory_read(x->memory, end, &collecting, sizeof(collecting)) || collecting)
		broken = true;
	for (__u64 addr = end & ~7ULL; addr > end - HEADS_BYTES; addr -= HEAD_ALIGN) {
		if (!is_head(x->memory, addr - 8))
			continue;
		found = true;
		outcome = walk_until_whole(x, addr - 8);
		if (outcome == ENOUGH)
			return 0;
		broken = broken || outcome == BROKEN;
	}
	return broken ? -EAGAIN : found ? 0 : -ENOENT;
}
