/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_text.h - a value of the target as text, like repr(), but without executing anything there.
 *
 * None, bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, types,
 * functions and modules look as repr() shows them. An instance is <Class attr=value ...>, from its
 * dictionary, its inline values and its slots, whatever its own __repr__ says. For numpy, scalars,
 * and the shape and type of arrays.
 *
 * Must hold: whatever the memory contains, time, depth and length are bounded; unreadable values
 * are "<?>", a value that contains itself "...", and truncated ones end in "…".
 */
#ifndef KRAIT_PYTHON_VALUES_OBJECT_TEXT_H
#define KRAIT_PYTHON_VALUES_OBJECT_TEXT_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "python/values/object_layout.h"
#include "base/data/memory.h"

/* Most objects nested in each other. */
#define OBJECT_DEPTH_MAX 4
/* Elements of a container, or attributes of an instance, to show. */
#define OBJECT_ITEMS_MAX 16
/* Bytes of one value. */
#define OBJECT_TEXT_MAX 1024
/* Reads for one value. */
#define OBJECT_READS_MAX 512

struct object_text {
	const struct object_layout *layout;
	const struct memory *memory;
	unsigned reads; /* done so far */
	unsigned depth;
	__u64 inside[OBJECT_DEPTH_MAX + 1]; /* the objects that contain this one */
	size_t len;
	bool cut;
	char text[OBJECT_TEXT_MAX + 8]; /* UTF-8, NUL-terminated, not printable yet */
};

/* Puts the value at that address into t->text. The caller sets layout and memory. */
void object_text_make(struct object_text *t, __u64 addr) __attribute__((nonnull));

#endif /* KRAIT_PYTHON_VALUES_OBJECT_TEXT_H */
