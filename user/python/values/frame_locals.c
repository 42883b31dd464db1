/* SPDX-License-Identifier: BSD-2-Clause */
#include "python/values/frame_locals.h"

#include <errno.h>
#include <string.h>

#include "python/values/object_read.h"
#include "python/values/py_string.h"
#include "base/data/cleanup.h"

/* Include/internal/pycore_code.h, CO_FAST_HIDDEN, _CELL and _FREE (3.11+) */
#define KIND_HIDDEN 0x10
#define KIND_CELL 0xc0
/* Stack references carry tags from 3.14 on (Include/internal/pycore_stackref.h). */
#define TAGS 7ULL

struct variables {
	struct object_text t, again;
	const struct frame *frame;
	frame_local_fn fn;
	void *ctx;
};

static int read_value_addr(const struct variables *v, struct object_text *t, __u32 index, bool cell,
			   __u64 *ret)
{
	const struct object_layout *layout = t->layout;
	struct object_head h;
	int err;

	t->reads = 0;
	err = object_read_u64(t, v->frame->frame_addr + layout->frame_locals + 8ULL * index, ret);
	*ret &= ~TAGS;
	if (err || !*ret || !cell)
		return err;
	/* Before the function has begun, the variable has not been made a cell yet. */
	err = object_head_read(t, *ret, &h);
	if (!err && !strcmp(h.type_name, "cell"))
		err = object_read_u64(t, *ret + layout->header, ret);
	return err;
}

/* Returns false to stop. */
static bool take(struct variables *v, __u64 name_addr, __u32 index, bool cell)
{
	cleanup_free char *name = NULL;
	__u64 addr, addr_again = 0;

	if (read_value_addr(v, &v->t, index, cell, &addr) || !addr ||
	    py_string_read(v->t.memory, v->t.layout->offsets, name_addr, &name))
		return true;
	object_text_make(&v->t, addr);
	object_text_make(&v->again, addr);
	return v->fn(v->ctx, name, v->t.text,
		     strcmp(v->t.text, v->again.text) ||
			     read_value_addr(v, &v->again, index, cell, &addr_again) ||
			     addr_again != addr);
}

/* Takes the names of a tuple, for variables from first on; *ret_cnt: their number. */
static int take_tuple(struct variables *v, __u64 tuple_addr, __u64 kinds_addr, __u32 first,
		      bool cells, __u32 *ret_cnt)
{
	const struct object_layout *layout = v->t.layout;
	__u64 cnt, names[FRAME_LOCALS_MAX];
	__u8 kinds[FRAME_LOCALS_MAX] = { 0 };
	int err = object_read_u64(&v->t, tuple_addr + layout->header, &cnt);

	*ret_cnt = 0;
	if (err)
		return err;
	if (cnt > FRAME_LOCALS_MAX)
		return -E2BIG;
	if (!cnt)
		return 0;
	err = object_read(&v->t, tuple_addr + layout->tuple_items, names, cnt * 8);
	if (!err && kinds_addr)
		err = object_read(&v->t, kinds_addr + (__u64)layout->offsets->bytes.ob_sval, kinds,
				  cnt);
	for (__u32 i = 0; !err && i < cnt; i++)
		if (!(kinds[i] & KIND_HIDDEN) &&
		    !take(v, names[i], first + i, cells || kinds[i] & KIND_CELL))
			return -ECANCELED;
	*ret_cnt = (__u32)cnt;
	return err;
}

static int take_new(struct variables *v)
{
	const struct object_layout *layout = v->t.layout;
	__u64 names_addr, kinds_addr;
	__u32 cnt;
	int err = object_read_u64(&v->t, v->frame->code_addr + layout->code_names, &names_addr);

	if (!err)
		err = object_read_u64(&v->t, v->frame->code_addr + layout->code_kinds, &kinds_addr);
	return err ? err : take_tuple(v, names_addr, kinds_addr, 0, false, &cnt);
}

/*
 * co_varnames, then co_cellvars, then co_freevars: the order of the variables, not that of the
 * members.
 */
static int take_old(struct variables *v)
{
	__u64 tuples[3]; /* co_varnames, co_freevars, co_cellvars */
	__u32 cnt, first = 0;
	int err = object_read(&v->t, v->frame->code_addr + v->t.layout->code_varnames, tuples,
			      sizeof(tuples));

	if (!err)
		err = take_tuple(v, tuples[0], 0, first, false, &cnt);
	if (!err) {
		first += cnt;
		err = take_tuple(v, tuples[2], 0, first, true, &cnt);
	}
	if (!err) {
		first += cnt;
		err = take_tuple(v, tuples[1], 0, first, true, &cnt);
	}
	return err;
}

int frame_locals(const struct object_layout *layout, const struct memory *memory,
		 const struct memory *again, const struct frame *frame, frame_local_fn fn,
		 void *ctx)
{
	struct variables v = { .frame = frame, .fn = fn, .ctx = ctx };

	if (!frame->code_addr || !frame->frame_addr)
		return -ENODATA;
	v.t.layout = v.again.layout = layout;
	v.t.memory = memory;
	v.again.memory = again;
	return layout->code_varnames ? take_old(&v) : take_new(&v);
}
