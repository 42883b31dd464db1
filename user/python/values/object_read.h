/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_read.h - shared by all kinds of values: bounded reads, bounded text, the head of an
 * object.
 */
#ifndef KRAIT_PYTHON_VALUES_OBJECT_READ_H
#define KRAIT_PYTHON_VALUES_OBJECT_READ_H

#include "python/values/object_text.h"

/* PyTypeObject.tp_flags, Include/object.h */
#define TYPE_INLINE_VALUES (1ULL << 2)
#define TYPE_MANAGED_DICT (1ULL << 4)
#define TYPE_HEAP (1ULL << 9)
#define TYPE_LONG (1ULL << 24)
#define TYPE_LIST (1ULL << 25)
#define TYPE_TUPLE (1ULL << 26)
#define TYPE_BYTES (1ULL << 27)
#define TYPE_STR (1ULL << 28)
#define TYPE_DICT (1ULL << 29)
#define TYPE_TYPE (1ULL << 31)

struct object_head {
	__u64 addr, type_addr;
	__u64 flags; /* tp_flags */
	__s64 basic_size, dict_offset; /* tp_basicsize, tp_dictoffset */
	char type_name[64]; /* tp_name: any bytes, truncated */
};

/* Counts reads; -EFAULT once there were too many. */
int object_read(struct object_text *t, __u64 addr, void *buf, size_t len);
int object_read_u64(struct object_text *t, __u64 addr, __u64 *ret);
/* -EINVAL: it cannot be an object. */
int object_head_read(struct object_text *t, __u64 addr, struct object_head *ret);
/* The type's own name, without its module. */
const char *object_class_name(const struct object_head *h);

/* Both leave out, and note, what there is no room for. */
void object_put(struct object_text *t, const char *text);
void object_putf(struct object_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * Puts len bytes with the escapes of repr(), in these quotes; prefix: "b" or "". more: the value
 * was truncated.
 */
void object_put_quoted(struct object_text *t, const char *prefix, const char *bytes, size_t len,
		       bool is_bytes, bool more);

/* Puts an object inside of this one. */
void object_put_value(struct object_text *t, __u64 addr);

/* ---- kinds: object_scalars.c, object_containers.c, object_instances.c. False: another kind. ---- */

bool object_put_scalar(struct object_text *t, const struct object_head *h);
bool object_put_container(struct object_text *t, const struct object_head *h);
void object_put_instance(struct object_text *t, const struct object_head *h);

/* One key and value of a dictionary, in order. Returns false to stop. */
typedef bool (*object_item_fn)(struct object_text *t, void *ctx, __u64 key_addr, __u64 value_addr);
/* The one that finds the value of a key; ctx: an object_finding. */
bool object_finding_item(struct object_text *t, void *ctx, __u64 key_addr, __u64 value_addr);
struct object_finding {
	const char *key;
	__u64 value_addr; /* 0: not found */
};
/*
 * For a keys object; values_addr: the values of a split table, 0: none. Returns 0, or the error of
 * a read.
 */
int object_each_key(struct object_text *t, __u64 keys_addr, __u64 values_addr, object_item_fn fn,
		    void *ctx);
int object_each_item(struct object_text *t, __u64 dict_addr, object_item_fn fn, void *ctx);
/* The same for an instance's attributes, without slots. */
int object_each_attribute(struct object_text *t, const struct object_head *h, object_item_fn fn,
			  void *ctx);
/* The value of one attribute; 0: none. */
__u64 object_attribute(struct object_text *t, __u64 addr, const char *name);
/* The value of a string key in a dictionary; 0: none. */
__u64 object_dict_find(struct object_text *t, __u64 dict_addr, const char *key);

#endif /* KRAIT_PYTHON_VALUES_OBJECT_READ_H */
