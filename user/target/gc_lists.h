/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gc_lists.h - the objects that an interpreter's garbage collector knows.
 *
 * CPython with a GIL, 3.8 to 3.15: struct _gc_runtime_state (Include/internal/pycore_gc.h, pycore_interp_structs.h) has
 * the heads of circular lists, one a generation, somewhere before the member collecting, whose offset is known; each
 * object has the same two links in front of it, with marks in their two lowest bits. Which words are heads is told by their
 * neighbours, which lead back to them. Free-threaded builds have no such lists.
 *
 * Nothing holds still meanwhile. A list whose links do not fit together is read from its other end, and again.
 *
 * Must hold: bounded work, whatever the memory says. What is found need not be an object.
 */
#ifndef KRAIT_TARGET_GC_LISTS_H
#define KRAIT_TARGET_GC_LISTS_H

#include <linux/types.h>
#include <stdbool.h>

#include "abi.h"

struct memory;
struct page_cache;

struct gc_lists {
	const struct memory *memory;
	struct page_cache *cache; /* of that memory */
	const struct py_offsets *offsets;
	/* One object, and its type; false: no more are wanted. */
	bool (*each)(void *ctx, __u64 object_addr, __u64 type_addr);
	void *ctx;
};

/*
 * All of one interpreter. 0; -ENOTSUP it has no such lists; -EAGAIN they changed all the time: not all were met; -ENOENT
 * none was found, though an interpreter has objects.
 */
int gc_lists_walk(const struct gc_lists *x, __u64 runtime_addr, __u64 interp_addr)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_TARGET_GC_LISTS_H */
