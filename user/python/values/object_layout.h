/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_layout.h - where things are in the objects of one interpreter build, beyond what frames
 * and code objects need: derived from its version and from the size of an object's header.
 *
 * Everything after the header moves with its size, which is 16 bytes, or 32 in free-threaded builds
 * (Include/object.h). The rest, by version, was computed from the headers of 3.8.18 to 3.13.0, and
 * for 3.14 and 3.15 from their published tables.
 */
#ifndef KRAIT_PYTHON_VALUES_OBJECT_LAYOUT_H
#define KRAIT_PYTHON_VALUES_OBJECT_LAYOUT_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"

/* Where an instance keeps its attributes that are not in slots. */
enum attributes_kind {
	ATTRIBUTES_DICT_OFFSET, /* only tp_dictoffset (up to 3.10) */
	ATTRIBUTES_TWO_WORDS, /* 3.11: dict at -3 words, values at -4 */
	ATTRIBUTES_TAGGED, /* 3.12: at -3 words; values if bit 0 is set */
	ATTRIBUTES_INLINE, /* 3.13+: dict at managed_dict; without one, values follow the object */
};

struct object_layout {
	const struct py_offsets *offsets; /* borrowed */
	__u32 minor;
	__u32 header; /* bytes of a PyObject */
	__u32 tuple_items; /* PyTupleObject.ob_item */
	__u32 cached_keys; /* PyHeapTypeObject.ht_cached_keys */
	enum attributes_kind attributes;
	__s32 managed_dict; /* relative to the object, negative */
	bool keys_have_kind; /* PyDictKeysObject of 3.11+ */
	__u32 values_header; /* bytes before PyDictValues.values */
	/* up to 3.10; co_freevars and co_cellvars follow; 0 in newer versions */
	__u32 code_varnames;
	__u32 code_names, code_kinds; /* co_localsplusnames, co_localspluskinds (3.11+) */
	__u32 frame_locals; /* f_localsplus, localsplus */
};

/* *offsets must outlive *ret. */
void object_layout_of(struct object_layout *ret, const struct py_offsets *offsets)
	__attribute__((nonnull));

#endif /* KRAIT_PYTHON_VALUES_OBJECT_LAYOUT_H */
