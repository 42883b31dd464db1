/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_text.h - a value of the target as text, in the way of repr(), but nothing is executed there.
 *
 * None, bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, types, functions and
 * modules look as repr() shows them; an instance is <Class attr=value ...>, from its dictionary, its inline
 * values and its slots, whatever its own __repr__ says; of numpy, scalars and the shape and type of arrays.
 *
 * Must hold: however the memory looks, time, depth and length are bounded; what cannot be read is "<?>", what
 * contains itself "...", what was cut ends in "…".
 */
#ifndef KRAIT_OBJECT_OBJECT_TEXT_H
#define KRAIT_OBJECT_OBJECT_TEXT_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "object/object_layout.h"
#include "util/memory.h"

/* How many objects may be inside each other. */
#define OBJECT_DEPTH_MAX 4
/* Elements of a container, attributes of an instance, that are shown. */
#define OBJECT_ITEMS_MAX 16
/* Bytes of one value. */
#define OBJECT_TEXT_MAX 1024
/* Reads for one value. */
#define OBJECT_READS_MAX 512

struct object_text {
	const struct object_layout *layout;
	const struct memory *memory;
	unsigned reads; /* that were done */
	unsigned depth;
	__u64 inside[OBJECT_DEPTH_MAX + 1]; /* the objects that contain this one */
	size_t len;
	bool cut;
	char text[OBJECT_TEXT_MAX + 8]; /* UTF-8, NUL-terminated, not printable yet */
};

/* The value at that address into t->text. layout and memory are set by the caller. */
void object_text_make(struct object_text *t, __u64 addr) __attribute__((nonnull));

#endif /* KRAIT_OBJECT_OBJECT_TEXT_H */
