/* SPDX-License-Identifier: BSD-2-Clause */
#include "python/values/object_layout.h"

#include <string.h>

static __u32 cached_keys_of(__u32 minor)
{
	switch (minor) {
	case 9:
		return 864;
	case 8:
	case 10:
	case 11:
		return 872;
	case 12:
	case 13:
	case 14:
		return 880;
	default:
		return 888;
	}
}

static enum attributes_kind attributes_of(__u32 minor)
{
	return minor <= 10 ? ATTRIBUTES_DICT_OFFSET :
	       minor == 11 ? ATTRIBUTES_TWO_WORDS :
	       minor == 12 ? ATTRIBUTES_TAGGED :
			     ATTRIBUTES_INLINE;
}

void object_layout_of(struct object_layout *ret, const struct py_offsets *offsets)
{
	const bool free_threaded = offsets->flags & PYOFF_FREE_THREADED;
	const __u32 minor = offsets->version >> 16 & 0xff;
	const __u32 header = (__u32)offsets->object.ob_type + 8, more = header - 16;

	*ret = (struct object_layout){
		.offsets = offsets,
		.minor = minor,
		.header = header,
		/* From 3.14 on a hash precedes the items. */
		.tuple_items = header + 8 + (minor >= 14 ? 8 : 0),
		.cached_keys = cached_keys_of(minor) + more,
		.attributes = attributes_of(minor),
		.managed_dict = free_threaded ? -8 : -24,
		.keys_have_kind = minor >= 11,
		.values_header = minor >= 13 ? 8 : 0,
	};
	if (minor <= 10) {
		ret->code_varnames = 72;
		ret->frame_locals = minor == 10 ? 352 : 360;
		return;
	}
	ret->code_names = 96 + more;
	ret->code_kinds = 104 + more;
	/* 3.11 has the member, but krait's table for it does not. */
	ret->frame_locals = offsets->frame.localsplus > 0 ? (__u32)offsets->frame.localsplus : 72;
}
