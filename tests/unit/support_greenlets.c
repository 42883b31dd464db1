/* SPDX-License-Identifier: BSD-2-Clause */
#include "support_greenlets.h"

#include <string.h>

#define YOUNG (GREENLETS_GC - 128)
#define PYTHON_3_12 0x030c01f0

__u64 greenlets_put_text(struct fake *f, const char *text)
{
	__u64 addr = fake_alloc(f, strlen(text) + 1);

	memcpy(fake_at(f, addr), text, strlen(text) + 1);
	return addr;
}

static __u64 put_type(struct greenlets *x, const char *name, __u64 size, __u64 base)
{
	__u64 addr = fake_alloc(x->f, 400);

	fake_put(x->f, addr + 8, x->type_type ? x->type_type : addr);
	fake_put(x->f, addr + 24, greenlets_put_text(x->f, name));
	fake_put(x->f, addr + 32, size);
	fake_put(x->f, addr + 256, base);
	return addr;
}

/* Appends to the list. */
static __u64 put_object(struct greenlets *x, __u64 head, __u64 type, __u64 size)
{
	struct fake *f = x->f;
	__u64 links = fake_alloc(f, size + 16), last = fake_get(f, head + 8);

	/* The lowest bits belong to the garbage collector. */
	fake_put(f, links, head);
	fake_put(f, links + 8, last | 2);
	fake_put(f, last, links | 1);
	fake_put(f, head + 8, links);
	fake_put(f, links + 16, 1);
	fake_put(f, links + 16 + 8, type);
	return links + 16;
}

__u64 greenlets_impl(struct greenlets *x, __u64 greenlet)
{
	return x->layout == ONE ? greenlet : fake_get(x->f, greenlet + 32);
}

__u64 greenlets_stack(struct greenlets *x, __u64 greenlet)
{
	static const __u32 at[] = { 16, 8 + 24 + 16, 16 + 24 + 16 };

	return greenlets_impl(x, greenlet) + at[x->layout];
}

__u64 greenlets_top_frame(struct greenlets *x, __u64 greenlet)
{
	return x->layout == ONE ? greenlet + 72 : greenlets_stack(x, greenlet) + 48;
}

__u64 greenlets_parent(struct greenlets *x, __u64 greenlet)
{
	static const __u32 at[] = { 56, GREENLETS_END_2 + 24, GREENLETS_END_3 + 16 };

	return greenlets_impl(x, greenlet) + at[x->layout];
}

static __u64 put_greenlet(struct greenlets *x, __u64 type, __u64 parent, __u64 start, __u64 stop)
{
	struct fake *f = x->f;
	__u64 addr = put_object(x, x->interp + GREENLETS_OLD, type, 176), impl;

	if (x->layout != ONE) {
		impl = fake_alloc(f, 208);
		fake_put(f, addr + 32, impl);
		fake_put(f, impl, x->type_type); /* a vtable */
		fake_put(f, impl + (x->layout == TWO ? GREENLETS_END_2 : 8), addr);
	}
	fake_put(f, greenlets_stack(x, addr), start);
	fake_put(f, greenlets_stack(x, addr) + 8, stop);
	if (stop == ~0ULL && x->layout != ONE) {
		__u64 state = fake_alloc(f, 48),
		      end = x->layout == TWO ? GREENLETS_END_2 : GREENLETS_END_3;

		fake_put(f, state, addr);
		fake_put(f, greenlets_impl(x, addr) + end, addr);
		fake_put(f, greenlets_impl(x, addr) + end + 8, state);
	} else if (stop != ~0ULL) {
		fake_put(f, greenlets_parent(x, addr), parent);
	}
	return addr;
}

__u64 greenlets_put(struct greenlets *x, __u64 parent)
{
	return put_greenlet(x, x->greenlet_type, parent, 0, 0);
}

/* Makes a frame that called another one, and its object. */
static __u64 put_frame(struct greenlets *x, __u64 caller, int owner)
{
	struct fake *f = x->f;
	__u64 frame = fake_alloc(f, 120), code = fake_code(f), object;

	fake_put(f, frame + f->offsets.frame.previous, caller);
	fake_put_u8(f, frame + f->offsets.frame.owner, (__u8)owner);
	if (owner == FAKE_ENTRY)
		return frame;
	fake_put(f, frame + f->offsets.frame.executable, code);
	fake_put(f, frame + f->offsets.frame.instr_ptr, code + f->offsets.code.code_adaptive + 2);
	object = fake_alloc(f, 64);
	fake_put(f, object + 8, x->frame_type);
	fake_put(f, object + 24, frame);
	fake_put(f, frame + f->offsets.frame.instr_ptr - 8, object);
	x->frame_objects[x->frame_cnt++] = object;
	return frame;
}

static void suspend(struct greenlets *x, __u64 greenlet, __u64 frame)
{
	fake_put(x->f, greenlets_top_frame(x, greenlet),
		 fake_get(x->f, frame + x->f->offsets.frame.instr_ptr - 8));
}

/*
 * Calls through C: the entry frame between is on the thread's stack, which by now holds another
 * greenlet's.
 */
static void suspend_deep(struct greenlets *x)
{
	struct fake *f = x->f;
	__u64 outer = put_frame(x, 0, FAKE_THREAD), entry = put_frame(x, outer, FAKE_ENTRY);
	__u64 copy = fake_alloc(f, 512), there = x->stack + 1024 + 256;

	memcpy(fake_at(f, copy + 256), fake_at(f, entry), 120);
	memset(fake_at(f, there), 0x41, 120);
	fake_put(f, greenlets_stack(x, x->deep) + 16, copy);
	fake_put(f, greenlets_stack(x, x->deep) + 24, 512);
	suspend(x, x->deep, put_frame(x, there, FAKE_THREAD));
}

static void put_greenlets(struct greenlets *x)
{
	struct fake *f = x->f;

	x->main = put_greenlet(x, x->greenlet_type, 0, x->stack + 8000, ~0ULL);
	x->hub = put_greenlet(x, x->hub_type, x->main, x->stack + 7000, x->stack + 7500);
	x->waits = put_greenlet(x, x->greenlet_type, x->hub, x->stack + 4096, x->stack + 6000);
	x->deep = put_greenlet(x, x->greenlet_type, x->hub, x->stack + 1024, x->stack + 5000);
	x->fresh = put_greenlet(x, x->greenlet_type, x->hub, 0, 0);
	put_greenlet(x, x->greenlet_type, x->main, 0, x->stack + 3000); /* it has ended */
	suspend(x, x->main, put_frame(x, put_frame(x, 0, FAKE_THREAD), FAKE_THREAD));
	suspend(x, x->waits, put_frame(x, put_frame(x, 0, FAKE_ENTRY), FAKE_THREAD));
	suspend_deep(x);
	fake_put(f, x->interp + YOUNG, x->interp + YOUNG); /* empty */
	fake_put(f, x->interp + YOUNG + 8, x->interp + YOUNG);
}

void greenlets_build(struct greenlets *x, enum layout layout)
{
	static const __u64 sizes[] = { 160, 40, 40 };
	struct fake *f;
	__u64 other;

	if (x->f)
		fake_free(x->f);
	probe_tasks_free(&x->list);
	*x = (struct greenlets){ .layout = layout };
	x->f = f = fake_new(&fake_versions[0], GREENLETS_ADDR, GREENLETS_SIZE);
	f->offsets.object.ob_type = 8;
	f->offsets.object.tp_name = 24;
	f->offsets.interp.gc_collecting = GREENLETS_GC;
	f->offsets.version = PYTHON_3_12;
	x->interp = fake_interp(f);
	x->type_type = put_type(x, "type", 1, 0);
	other = put_type(x, "dict", 1, x->type_type);
	x->frame_type = put_type(x, "frame", 1, 0);
	x->greenlet_type = put_type(x, "greenlet.greenlet", sizes[layout], 0);
	x->hub_type = put_type(x, "some.where.Hub", 64, x->greenlet_type);
	x->stack = fake_alloc(f, 8192);
	fake_put_u32(f,
		     fake_thread(f, x->interp, fake_alloc(f, 64), FAKE_STATUS_BOUND) +
			     f->offsets.thread.native_thread_id,
		     GREENLETS_THREAD_ID);
	fake_put(f, x->interp + GREENLETS_OLD, x->interp + GREENLETS_OLD);
	fake_put(f, x->interp + GREENLETS_OLD + 8, x->interp + GREENLETS_OLD);
	put_object(x, x->interp + GREENLETS_OLD, other, 32);
	put_greenlets(x);
	put_object(x, x->interp + GREENLETS_OLD, other, 32);
}
