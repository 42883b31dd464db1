/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_instances.c - instances of classes, and the interpreter's objects for code: types,
 * functions, methods, modules.
 *
 * Attributes are in a dictionary, in an array of values for which the class has the names
 * (Objects/dictobject.c, Include/internal/pycore_object.h), or in slots (PyMemberDef,
 * Include/structmember.h: name, type, offset).
 */
#include <stdio.h>
#include <string.h>

#include "python/values/object_read.h"
#include "python/values/py_string.h"
#include "base/data/cleanup.h"

/* Py_T_OBJECT_EX: what __slots__ makes (Include/descrobject.h). */
#define MEMBER_OBJECT 16
/* Classes to search for slots, from an instance's own upwards; and slots per class. */
#define BASES_MAX 16
#define SLOTS_MAX 64
#define NUMPY_DIMS_MAX 16

/* Offsets in PyTypeObject from tp_name, the same in all versions. */
enum { TYPE_MEMBERS = 216, TYPE_BASE = 232, TYPE_DICT_OF = 240, TYPE_EXCEPTION_BIT = 30 };

static __u64 type_field(struct object_text *t, __u64 type_addr, unsigned offset)
{
	__u64 value = 0;

	if (object_read_u64(t, type_addr + (__u64)t->layout->offsets->object.tp_name + offset,
			    &value))
		return 0;
	return value;
}

/* Puts a string's characters, without quotes. False: not a string. */
static bool put_string(struct object_text *t, __u64 addr)
{
	cleanup_free char *text = NULL;

	t->reads += 3;
	if (!addr || py_string_read_any(t->memory, t->layout->offsets, addr, &text))
		return false;
	object_put(t, text);
	return true;
}

static bool put_string_at(struct object_text *t, __u64 addr)
{
	__u64 string_addr;

	return !object_read_u64(t, addr, &string_addr) && put_string(t, string_addr);
}

/* ---- attributes ------------------------------------------------------------------------------- */

struct attributes {
	unsigned shown;
};

static bool begin_attribute(struct object_text *t, struct attributes *a)
{
	object_put(t, " ");
	if (a->shown++ < OBJECT_ITEMS_MAX && !t->cut)
		return true;
	object_put(t, "…");
	return false;
}

static bool put_attribute(struct object_text *t, void *ctx, __u64 key_addr, __u64 value_addr)
{
	if (!begin_attribute(t, ctx))
		return false;
	if (!put_string(t, key_addr))
		object_put(t, "<?>");
	object_put(t, "=");
	object_put_value(t, value_addr);
	return true;
}

static void put_slots_of(struct object_text *t, const struct object_head *h, __u64 type_addr,
			 struct attributes *a)
{
	__u64 members_addr = type_field(t, type_addr, TYPE_MEMBERS), cnt = 0;

	if (!members_addr || object_read_u64(t, type_addr + t->layout->header, &cnt))
		return;
	for (__u64 i = 0; i < cnt && i < SLOTS_MAX; i++) {
		struct {
			__u64 name_addr;
			__s32 type, pad;
			__s64 offset, flags;
			__u64 doc_addr;
		} member;
		char name[64] = "";
		__u64 value_addr;

		if (object_read(t, members_addr + i * sizeof(member), &member, sizeof(member)) ||
		    member.type != MEMBER_OBJECT || member.offset < 0 ||
		    member.offset > h->basic_size - 8 ||
		    object_read_u64(t, h->addr + (__u64)member.offset, &value_addr) || !value_addr)
			continue;
		if (!begin_attribute(t, a))
			return;
		/*
		 * The UTF-8 is inside the name's own string object, so what follows it is readable,
		 * too.
		 */
		if (object_read(t, member.name_addr, name, sizeof(name) - 1) &&
		    object_read(t, member.name_addr, name, 8))
			strcpy(name, "<?>");
		object_putf(t, "%.*s=", (int)strnlen(name, sizeof(name) - 1), name);
		object_put_value(t, value_addr);
	}
}

static void put_slots(struct object_text *t, const struct object_head *h, struct attributes *a)
{
	const __u64 tp_flags = 144;
	__u64 type_addr = h->type_addr;

	for (unsigned i = 0; i < BASES_MAX && type_addr && !(type_addr & 7); i++) {
		if (!(type_field(t, type_addr, tp_flags) & TYPE_HEAP))
			return;
		put_slots_of(t, h, type_addr, a);
		type_addr = type_field(t, type_addr, TYPE_BASE);
	}
}

static void put_attributes(struct object_text *t, const struct object_head *h)
{
	struct attributes a = { 0 };

	if (object_each_attribute(t, h, put_attribute, &a))
		object_put(t, " <?>");
	if (a.shown <= OBJECT_ITEMS_MAX)
		put_slots(t, h, &a);
}

/* ---- numpy ------------------------------------------------------------------------------------ */

/* PyArrayObject_fields: data, nd, dimensions, strides, base, descr (numpy/ndarraytypes.h). */
static void put_array(struct object_text *t, const struct object_head *h)
{
	__u64 words[6], dims[NUMPY_DIMS_MAX], dtype_addr;
	struct object_head dtype = { .type_name = "?" };
	char name[64] = "?";
	__u32 cnt;

	if (object_read(t, h->addr + t->layout->header, words, sizeof(words))) {
		object_put(t, "<ndarray ?>");
		return;
	}
	cnt = (__u32)words[1] < NUMPY_DIMS_MAX ? (__u32)words[1] : NUMPY_DIMS_MAX;
	if (cnt && object_read(t, words[2], dims, cnt * sizeof(*dims)))
		cnt = 0;
	object_put(t, "<ndarray shape=(");
	for (__u32 i = 0; i < cnt; i++)
		object_putf(t, i ? ", %lld" : "%lld", (long long)dims[i]);
	/* PyArray_Descr.typeobj is the type of its scalars: "numpy.float64". */
	if (!object_read_u64(t, words[5] + t->layout->header, &dtype_addr) &&
	    !object_read(t, type_field(t, dtype_addr, 0), name, sizeof(name) - 1))
		snprintf(dtype.type_name, sizeof(dtype.type_name), "%.63s", name);
	object_putf(t, "%s) dtype=%s>", cnt == 1 ? "," : "", object_class_name(&dtype));
}

static bool put_number(struct object_text *t, const struct object_head *h, const char *kind)
{
	union {
		double f64;
		float f32;
		__s64 i64;
		__s32 i32;
		__s16 i16;
		__s8 i8;
		__u64 u64;
		__u32 u32;
		__u16 u16;
		__u8 u8;
	} v;
	char text[64];

	if (object_read(t, h->addr + t->layout->header, &v, sizeof(v)))
		return false;
#define INTEGER(name, member, format)                                                              \
	if (!strcmp(kind, name))                                                                   \
		snprintf(text, sizeof(text), format, v.member);                                    \
	else
	INTEGER("int64", i64, "%lld")
	INTEGER("int32", i32, "%d")
	INTEGER("int16", i16, "%d")
	INTEGER("int8", i8, "%d")
	INTEGER("uint64", u64, "%llu")
	INTEGER("uint32", u32, "%u")
	INTEGER("uint16", u16, "%u")
	INTEGER("uint8", u8, "%u")
	INTEGER("float64", f64, "%.17g")
	INTEGER("float32", f32, "%.9g")
#undef INTEGER
	if (!strcmp(kind, "bool") || !strcmp(kind, "bool_"))
		snprintf(text, sizeof(text), "%s", v.u8 ? "True" : "False");
	else
		return false;
	object_putf(t, "<%s %s>", h->type_name, text);
	return true;
}

static bool put_numpy(struct object_text *t, const struct object_head *h)
{
	if (strncmp(h->type_name, "numpy.", 6))
		return false;
	if (!strcmp(h->type_name + 6, "ndarray")) {
		put_array(t, h);
		return true;
	}
	return put_number(t, h, h->type_name + 6);
}

/* ---- code ------------------------------------------------------------------------------------- */

static void put_class(struct object_text *t, const struct object_head *h)
{
	__u64 name_addr = type_field(t, h->addr, 0), flags = type_field(t, h->addr, 144);
	__u64 dict_addr = type_field(t, h->addr, TYPE_DICT_OF), module_addr = 0;
	size_t before;
	char name[64] = "";

	object_put(t, "<class '");
	if (flags & TYPE_HEAP) {
		if (dict_addr)
			module_addr = object_dict_find(t, dict_addr, "__module__");
		before = t->len;
		if (put_string(t, module_addr))
			object_put(t, ".");
		if (!strcmp(t->text + before, "builtins.")) {
			t->len = before;
			t->text[before] = '\0';
		}
		if (!put_string_at(t, h->addr + t->layout->cached_keys - 8))
			object_put(t, "?");
	} else if (name_addr && !object_read(t, name_addr, name, sizeof(name) - 1)) {
		object_put(t, name);
	}
	object_put(t, "'>");
}

static bool put_function(struct object_text *t, const struct object_head *h)
{
	/* PyFunctionObject.func_qualname, Include/cpython/funcobject.h (3.10+); Include/funcobject.h */
	const unsigned qualname = t->layout->header + (t->layout->minor >= 10 ? 24 : 88);

	object_put(t, "<function ");
	if (!put_string_at(t, h->addr + qualname))
		object_put(t, "?");
	object_putf(t, " at 0x%llx>", h->addr);
	return true;
}

static bool put_builtin(struct object_text *t, const struct object_head *h)
{
	__u64 words[2], name_addr; /* m_ml, m_self */
	struct object_head self;
	char name[64] = "?";

	if (object_read(t, h->addr + t->layout->header, words, sizeof(words)) ||
	    object_read_u64(t, words[0], &name_addr))
		return false;
	if (object_read(t, name_addr, name, sizeof(name) - 1) && object_read(t, name_addr, name, 8))
		strcpy(name, "?");
	name[sizeof(name) - 1] = '\0';
	if (!words[1] || object_head_read(t, words[1], &self) || !strcmp(self.type_name, "module"))
		object_putf(t, "<built-in function %s>", name);
	else
		object_putf(t, "<built-in method %s of %s object at 0x%llx>", name, self.type_name,
			    words[1]);
	return true;
}

static bool put_method(struct object_text *t, const struct object_head *h)
{
	const unsigned qualname = t->layout->header + (t->layout->minor >= 10 ? 24 : 88);
	__u64 words[2]; /* im_func, im_self */

	if (object_read(t, h->addr + t->layout->header, words, sizeof(words)))
		return false;
	object_put(t, "<bound method ");
	if (!put_string_at(t, words[0] + qualname))
		object_put(t, "?");
	object_put(t, " of ");
	object_put_value(t, words[1]);
	object_put(t, ">");
	return true;
}

static bool put_module(struct object_text *t, const struct object_head *h)
{
	__u64 dict_addr, name_addr = 0, file_addr = 0;

	if (object_read_u64(t, h->addr + t->layout->header, &dict_addr))
		return false;
	name_addr = object_dict_find(t, dict_addr, "__name__");
	file_addr = object_dict_find(t, dict_addr, "__file__");
	object_put(t, "<module ");
	if (name_addr)
		object_put_value(t, name_addr);
	if (file_addr) {
		object_put(t, " from ");
		object_put_value(t, file_addr);
	} else {
		object_put(t, " (built-in)");
	}
	object_put(t, ">");
	return true;
}

static bool put_exception(struct object_text *t, const struct object_head *h)
{
	__u64 args_addr, cnt;

	/* PyBaseExceptionObject: dict, args (Include/cpython/pyerrors.h) */
	if (object_read_u64(t, h->addr + t->layout->header + 8, &args_addr) ||
	    object_read_u64(t, args_addr + t->layout->header, &cnt))
		return false;
	object_put(t, object_class_name(h));
	/* Like a tuple, but without the comma after a single item. */
	if (cnt != 1) {
		object_put_value(t, args_addr);
		return true;
	}
	object_put(t, "(");
	if (!object_read_u64(t, args_addr + t->layout->tuple_items, &args_addr))
		object_put_value(t, args_addr);
	object_put(t, ")");
	return true;
}

static bool put_range(struct object_text *t, const struct object_head *h)
{
	__u64 words[3];
	size_t before;

	if (object_read(t, h->addr + t->layout->header, words, sizeof(words)))
		return false;
	object_put(t, "range(");
	object_put_value(t, words[0]);
	object_put(t, ", ");
	object_put_value(t, words[1]);
	before = t->len;
	object_put(t, ", ");
	object_put_value(t, words[2]);
	if (!strcmp(t->text + before, ", 1")) {
		t->len = before;
		t->text[before] = '\0';
	}
	object_put(t, ")");
	return true;
}

static bool put_known(struct object_text *t, const struct object_head *h)
{
	static const struct {
		const char *type;
		bool (*put)(struct object_text *t, const struct object_head *h);
	} known[] = {
		{ "function", put_function }, { "builtin_function_or_method", put_builtin },
		{ "method", put_method },     { "module", put_module },
		{ "range", put_range },
	};

	if (h->flags & TYPE_HEAP)
		return false;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(h->type_name, known[i].type))
			return known[i].put(t, h);
	return false;
}

void object_put_instance(struct object_text *t, const struct object_head *h)
{
	if (h->flags & TYPE_TYPE) {
		put_class(t, h);
		return;
	}
	if (put_known(t, h) || put_numpy(t, h))
		return;
	if (h->flags >> TYPE_EXCEPTION_BIT & 1 && put_exception(t, h))
		return;
	object_putf(t, "<%s", object_class_name(h));
	put_attributes(t, h);
	object_put(t, ">");
}
