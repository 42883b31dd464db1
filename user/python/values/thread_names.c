/* SPDX-License-Identifier: BSD-2-Clause */
#include "python/values/thread_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/values/modules.h"
#include "python/values/object_read.h"
#include "python/values/py_string.h"
#include "base/data/cleanup.h"

struct names {
	struct object_text t, again;
	const __u64 *wanted; /* NULL: all */
	unsigned wanted_cnt;
	thread_name_fn fn;
	void *ctx;
	unsigned cnt;
};

static bool read_name(struct object_text *t, __u64 thread_addr, char ret[THREAD_NAME_SIZE])
{
	cleanup_free char *text = NULL;
	__u64 addr;

	t->reads = 0;
	addr = object_attribute(t, thread_addr, "_name");
	if (!addr || py_string_read_any(t->memory, t->layout->offsets, addr, &text))
		return false;
	snprintf(ret, THREAD_NAME_SIZE, "%s", text);
	return true;
}

static bool is_wanted(const struct names *n, __u64 ident)
{
	for (unsigned i = 0; i < n->wanted_cnt; i++)
		if (n->wanted[i] == ident)
			return true;
	return !n->wanted;
}

/*
 * The value of such a key, an int of at most 64 bits (Include/cpython/longintrepr.h, and
 * object_scalars.c); 0: another one.
 */
static __u64 read_ident(struct object_text *t, __u64 key_addr)
{
	struct {
		__u64 size; /* the number of digits, above three bits from 3.12 on */
		__u32 digits[3];
		__u32 pad_;
	} number;
	__u64 cnt;

	if (object_read(t, key_addr + t->layout->header, &number, 8 + sizeof(number.digits)))
		return 0;
	cnt = t->layout->minor >= 12 ? number.size >> 3 : number.size;
	if (cnt > 2 && (cnt > 3 || number.digits[2] > 15))
		return 0;
	return (cnt > 0 ? (__u64)number.digits[0] : 0) |
	       (cnt > 1 ? (__u64)number.digits[1] << 30 : 0) |
	       (cnt > 2 ? (__u64)number.digits[2] << 60 : 0);
}

static bool take(struct object_text *t, void *ctx, __u64 key_addr, __u64 value_addr)
{
	struct names *n = ctx;
	char name[THREAD_NAME_SIZE], again[THREAD_NAME_SIZE] = "";
	__u64 ident;

	if (n->cnt++ == THREAD_NAMES_MAX)
		return false;
	t->reads = 0;
	ident = read_ident(t, key_addr);
	if (!ident || !is_wanted(n, ident) || !read_name(&n->t, value_addr, name)) {
		t->reads = 0;
		return true;
	}
	n->fn(n->ctx, ident, name, !read_name(&n->again, value_addr, again) || strcmp(name, again));
	t->reads = 0;
	return true;
}

static struct names *names_new(const struct object_layout *layout, const struct memory *memory)
{
	struct names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->t.layout = n->again.layout = layout;
	n->t.memory = memory;
	return n;
}

/* Is it a dictionary? */
static bool is_dict(struct names *n, __u64 addr)
{
	struct object_head h;

	n->t.reads = 0;
	return addr && !object_head_read(&n->t, addr, &h) && h.flags & TYPE_DICT;
}

int thread_names_find(const struct object_layout *layout, const struct memory *memory,
		      __u64 runtime_addr, __u64 interp_addr, __u64 *ret_active_addr)
{
	cleanup_free struct names *n = names_new(layout, memory);

	if (!n)
		return -ENOMEM;
	*ret_active_addr =
		module_attribute(&n->t, runtime_addr, interp_addr, "threading", "_active");
	return *ret_active_addr ? 0 : -ENOENT;
}

int thread_names_read(const struct thread_names_ask *ask, thread_name_fn fn, void *ctx)
{
	cleanup_free struct names *n = names_new(ask->layout, ask->memory);

	if (!n)
		return -ENOMEM;
	n->again.memory = ask->again;
	n->wanted = ask->wanted;
	n->wanted_cnt = ask->wanted_cnt;
	n->fn = fn;
	n->ctx = ctx;
	if (!is_dict(n, ask->active_addr))
		return -ENOENT;
	n->t.reads = 0;
	return object_each_item(&n->t, ask->active_addr, take, n) ? -EFAULT : 0;
}
