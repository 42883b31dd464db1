/* SPDX-License-Identifier: BSD-2-Clause */
#include "python/values/modules.h"

#include <errno.h>
#include <string.h>

#include "python/values/object_read.h"

/* A string's header and the characters of a name that we look for. */
#define KEY_BYTES 128

/* The offset of modules must be below this: no interpreter is that large. */
#define MODULES_MAX (1U << 20)

/*
 * PyInterpreterState.modules (up to 3.11), .imports.modules (3.12), from the debug information of
 * 3.8.18, 3.9.18, 3.10.13, 3.11.7 and 3.12.1. 3.13 and later publish it
 * (interpreter_state.imports_modules): its position in the table.
 */
static const struct {
	__u32 minor, offset, published_at;
} modules[] = {
	{ 8, 56, 0 },	{ 9, 856, 0 }, { 10, 856, 0 }, { 11, 888, 0 },
	{ 12, 944, 0 }, { 13, 0, 88 }, { 14, 0, 96 },  { 15, 0, 96 },
};

static int modules_offset(struct object_text *t, __u64 runtime_addr, __u64 *ret)
{
	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
		if (modules[i].minor != t->layout->minor)
			continue;
		*ret = modules[i].offset;
		if (*ret)
			return 0;
		if (object_read_u64(t, runtime_addr + modules[i].published_at, ret) || *ret % 8 ||
		    *ret > MODULES_MAX)
			return -ENOENT;
		return 0;
	}
	return -ENOENT;
}

struct finding {
	const char *key;
	__u64 value_addr;
};

/* Is it that string, as short as an identifier is? Such a one is compact and ASCII. */
static bool is_string(struct object_text *t, __u64 addr, const char *text)
{
	const struct py_offsets *off = t->layout->offsets;
	const size_t size = strlen(text), at = (size_t)off->unicode.ascii_size;
	char bytes[KEY_BYTES];
	__s64 length;

	if (at + size > sizeof(bytes) || off->unicode.length < 0 ||
	    (size_t)off->unicode.length + sizeof(length) > at ||
	    object_read(t, addr, bytes, at + size))
		return false;
	memcpy(&length, bytes + off->unicode.length, sizeof(length));
	return length == (__s64)size && !memcmp(bytes + at, text, size);
}

/* Like object_dict_find(), in a dictionary that may have many entries. */
static bool find_key(struct object_text *t, void *ctx, __u64 key_addr, __u64 value_addr)
{
	struct finding *f = ctx;

	t->reads = 0;
	if (is_string(t, key_addr, f->key))
		f->value_addr = value_addr;
	return !f->value_addr;
}

static __u64 find_in(struct object_text *t, __u64 dict_addr, const char *key)
{
	struct finding f = { .key = key };
	struct object_head h;

	t->reads = 0;
	if (!dict_addr || object_head_read(t, dict_addr, &h) || !(h.flags & TYPE_DICT) ||
	    object_each_item(t, dict_addr, find_key, &f))
		return 0;
	return f.value_addr;
}

__u64 module_attribute(struct object_text *t, __u64 runtime_addr, __u64 interp_addr,
		       const char *module, const char *name)
{
	__u64 offset, addr;

	t->reads = 0;
	if (modules_offset(t, runtime_addr, &offset) ||
	    object_read_u64(t, interp_addr + offset, &addr))
		return 0;
	addr = find_in(t, addr, module);
	/* PyModuleObject.md_dict is its first member (Include/internal/pycore_moduleobject.h). */
	if (!addr || object_read_u64(t, addr + t->layout->header, &addr))
		return 0;
	return find_in(t, addr, name);
}
