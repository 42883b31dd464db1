/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frame_locals.h - the local variables of a frame: arguments, locals, cells and free variables, with their values
 * as text.
 *
 * Each value is read twice, through two views of the memory, of which the second one was taken later: one that came
 * out differently has changed meanwhile, by another thread.
 */
#ifndef KRAIT_OBJECT_FRAME_LOCALS_H
#define KRAIT_OBJECT_FRAME_LOCALS_H

#include <stdbool.h>

#include "object/object_text.h"

/* Of one frame. */
#define FRAME_LOCALS_MAX 256

/* name, value: UTF-8. False ends it. */
typedef bool (*frame_local_fn)(void *ctx, const char *name, const char *value, bool changed);

/* Those that have a value. What cannot be read is left out. 0, or why there are none. */
int frame_locals(const struct object_layout *layout, const struct memory *memory,
		 const struct memory *again, const struct frame *frame, frame_local_fn fn,
		 void *ctx) __attribute__((nonnull(1, 2, 3, 4)));

#endif /* KRAIT_OBJECT_FRAME_LOCALS_H */
