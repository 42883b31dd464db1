/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gc_lists.h - the objects that an interpreter's garbage collector tracks.
 *
 * For CPython with a GIL, 3.8 to 3.15. struct _gc_runtime_state (Include/internal/pycore_gc.h,
 * pycore_interp_structs.h) has the heads of circular lists, one per generation, somewhere before
 * the member collecting, whose offset is known. Each object is preceded by two such links, with
 * flags in their two lowest bits. A word is recognised as a head by its neighbours, which link back
 * to it. Free-threaded builds have no such lists.
 *
 * Nothing holds still meanwhile. A list with inconsistent links is read from its other end, and
 * again.
 *
 * Must hold: bounded work, whatever the memory contains. What is found need not be an object.
 */
#ifndef KRAIT_PROCESS_PROBE_GC_LISTS_H
#define KRAIT_PROCESS_PROBE_GC_LISTS_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"

struct memory;
struct page_cache;

struct gc_lists {
	const struct memory *memory;
	struct page_cache *cache; /* of that memory */
	const struct py_offsets *offsets;
	/* Gets one object and its type; returns false to stop. */
	bool (*each)(void *ctx, __u64 object_addr, __u64 type_addr);
	void *ctx;
};

/*
 * Walks all lists of one interpreter. Returns 0; -ENOTSUP: it has no such lists; -EAGAIN: they kept
 * changing, so not all objects were met; -ENOENT: no object was found, though every interpreter has
 * some.
 */
int gc_lists_walk(const struct gc_lists *x, __u64 runtime_addr, __u64 interp_addr)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PROCESS_PROBE_GC_LISTS_H */
