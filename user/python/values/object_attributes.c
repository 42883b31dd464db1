/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_attributes.c - where an instance keeps its attributes, apart from slots: in a dictionary,
 * or in an array of values whose names its class has (Objects/dictobject.c,
 * Include/internal/pycore_object.h).
 */

#include "python/values/object_read.h"

/* At most one is set; 0: none. */
struct places {
	__u64 dict_addr, values_addr;
};

/* For a class with MANAGED_DICT, 3.11 and later. */
static void find_managed(struct object_text *t, const struct object_head *h, struct places *ret)
{
	__u64 dict_addr = 0;
	__u8 values[4]; /* capacity, size, embedded, valid */

	if (object_read_u64(t, h->addr + (__u64)t->layout->managed_dict, &dict_addr))
		return;
	switch (t->layout->attributes) {
	case ATTRIBUTES_TWO_WORDS:
		if (!dict_addr && object_read_u64(t, h->addr - 32, &ret->values_addr))
			return;
		break;
	case ATTRIBUTES_TAGGED:
		if (dict_addr & 1) {
			ret->values_addr = dict_addr + 1;
			dict_addr = 0;
		}
		break;
	default:
		if (!dict_addr && h->flags & TYPE_INLINE_VALUES)
			ret->values_addr = h->addr + (__u64)h->basic_size;
		if (ret->values_addr &&
		    (object_read(t, ret->values_addr, values, sizeof(values)) || !values[3]))
			ret->values_addr = 0;
	}
	ret->dict_addr = dict_addr;
}

int object_each_attribute(struct object_text *t, const struct object_head *h, object_item_fn fn,
			  void *ctx)
{
	struct places p = { 0, 0 };
	__u64 keys_addr = 0;
	int err;

	if (h->flags & TYPE_MANAGED_DICT && t->layout->minor >= 11)
		find_managed(t, h, &p);
	else if (h->dict_offset > 0 && h->dict_offset <= h->basic_size - 8 &&
		 object_read_u64(t, h->addr + (__u64)h->dict_offset, &p.dict_addr))
		p.dict_addr = 0;
	if (p.dict_addr)
		return object_each_item(t, p.dict_addr, fn, ctx);
	if (!p.values_addr)
		return 0;
	err = object_read_u64(t, h->type_addr + t->layout->cached_keys, &keys_addr);
	return err || !keys_addr ? -1 : object_each_key(t, keys_addr, p.values_addr, fn, ctx);
}

__u64 object_attribute(struct object_text *t, __u64 addr, const char *name)
{
	struct object_finding f = { .key = name };
	struct object_head h;

	if (object_head_read(t, addr, &h) || object_each_attribute(t, &h, object_finding_item, &f))
		return 0;
	return f.value_addr;
}
