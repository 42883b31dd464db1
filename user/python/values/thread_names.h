/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread_names.h - the names that a program gives its threads: threading.Thread.name of those in
 * threading._active, which is found through the modules of an interpreter (Lib/threading.py, 3.8 to
 * 3.15).
 *
 * Before 3.14 the kernel does not get these names, and later only their first 15 bytes.
 *
 * Must hold: time and length are bounded whatever the memory contains; each name is read twice,
 * like a variable (frame_locals.h).
 */
#ifndef KRAIT_PYTHON_VALUES_THREAD_NAMES_H
#define KRAIT_PYTHON_VALUES_THREAD_NAMES_H

#include <linux/types.h>
#include <stdbool.h>

#include "python/values/object_layout.h"
#include "base/data/memory.h"

/* Per interpreter; further threads have no name. */
#define THREAD_NAMES_MAX 16384U
/* Bytes of one name. */
#define THREAD_NAME_SIZE 256

/* ident: Thread.ident, which is pthread_self(). name: UTF-8. changed: it changed while it was read. */
typedef void (*thread_name_fn)(void *ctx, __u64 ident, const char *name, bool changed);

/*
 * Finds threading._active of an interpreter, which keeps its address as long as the program does not
 * load the module anew. runtime_addr: of the table of debug offsets, from 3.13 on. Returns 0;
 * -ENOENT: the module has not been imported, or was not found; -ENOMEM.
 */
int thread_names_find(const struct object_layout *layout, const struct memory *memory,
		      __u64 runtime_addr, __u64 interp_addr, __u64 *ret_active_addr)
	__attribute__((warn_unused_result, nonnull));

struct thread_names_ask {
	const struct object_layout *layout;
	const struct memory *memory, *again; /* two separate views of it */
	__u64 active_addr;
	const __u64 *wanted; /* only these threads; NULL: all */
	unsigned wanted_cnt;
};

/* Calls fn for each. Returns 0; -ENOENT: there is no such dictionary; -EFAULT; -ENOMEM. */
int thread_names_read(const struct thread_names_ask *ask, thread_name_fn fn, void *ctx)
	__attribute__((nonnull(1, 2)));

#endif /* KRAIT_PYTHON_VALUES_THREAD_NAMES_H */
