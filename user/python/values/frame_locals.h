/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frame_locals.h - the local variables of a frame: arguments, locals, cells and free variables,
 * with their values as text.
 *
 * Each value is read twice, through two views of the memory, the second taken later: if the texts
 * differ, another thread has changed the value meanwhile.
 */
#ifndef KRAIT_PYTHON_VALUES_FRAME_LOCALS_H
#define KRAIT_PYTHON_VALUES_FRAME_LOCALS_H

#include <stdbool.h>

#include "python/values/object_text.h"

/* Per frame. */
#define FRAME_LOCALS_MAX 256

/* name, value: UTF-8. Returns false to stop. */
typedef bool (*frame_local_fn)(void *ctx, const char *name, const char *value, bool changed);

/*
 * Calls fn for the variables that have a value; leaves out what cannot be read. Returns 0, or why
 * there are none.
 */
int frame_locals(const struct object_layout *layout, const struct memory *memory,
		 const struct memory *again, const struct frame *frame, frame_local_fn fn,
		 void *ctx) __attribute__((nonnull(1, 2, 3, 4)));

#endif /* KRAIT_PYTHON_VALUES_FRAME_LOCALS_H */
