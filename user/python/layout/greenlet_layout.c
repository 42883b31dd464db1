/* SPDX-License-Identifier: BSD-2-Clause */
#include "python/layout/greenlet_layout.h"

#include <errno.h>
#include <string.h>

#include "base/data/hash.h"
#include "base/data/memory.h"

#define TYPE_NAME "greenlet.greenlet"
/* PyTypeObject, after tp_name (Include/cpython/object.h): tp_basicsize, tp_base. */
#define TYPE_SIZE 8
#define TYPE_BASE 232
#define BASES_MAX 64
#define SECTION_MAX (1U << 20)

/* The object: sizes for layout 1.x and the others; and where the latter point to the C++ object. */
#define ONE_SIZE_MIN 152
#define ONE_SIZE_MAX 176
#define OTHER_SIZE 40
#define OTHER_IMPL 32
#define ONE_PARENT 56
#define ONE_TOP_FRAME 72
/* A C++ object, and where its last part can begin. */
#define IMPL_SIZE KRAIT_GREENLET_WINDOW
#define END_MIN 120
/* After the stack's five members come context and top_frame. */
#define TOP_FRAME_BEHIND 48
#define STACK_MAIN (~0ULL)
/* PyFrameObject.f_frame (3.11+): after its head and f_back. */
#define FRAME_OF_OBJECT 8
/* Largest thread stack. */
#define STACK_SIZE_MAX (1ULL << 34)

static int read_word(const struct greenlet_layout *l, __u64 addr, __u64 *ret)
{
	return memory_read(l->memory, addr, ret, sizeof(*ret));
}

/* ---- types ------------------------------------------------------------------------------------ */

static bool text_is(const struct greenlet_layout *l, __u64 addr, const char *text)
{
	char found[32];
	size_t size = strlen(text) + 1;

	return size <= sizeof(found) && !memory_read(l->memory, addr, found, size) &&
	       !memcmp(found, text, size);
}

static bool type_is_called(const struct greenlet_layout *l, __u64 type_addr, const char *name)
{
	__u64 name_addr;

	return type_addr && !(type_addr % 8) &&
	       !read_word(l, type_addr + (__u64)l->offsets->object.tp_name, &name_addr) &&
	       text_is(l, name_addr, name);
}

static bool is_of_type(const struct greenlet_layout *l, __u64 addr, const char *name)
{
	__u64 type_addr;

	return addr && !(addr % 8) &&
	       !read_word(l, addr + (__u64)l->offsets->object.ob_type, &type_addr) &&
	       type_is_called(l, type_addr, name);
}

int greenlet_layout_find(struct greenlet_layout *l, __u64 start, __u64 end, __u64 module_start,
			 __u64 module_end)
{
	const __u64 name_off = (__u64)l->offsets->object.tp_name;
	__u64 words[512];

	if (end < start || end - start > SECTION_MAX)
		return -ENOENT;
	for (__u64 addr = start; addr < end; addr += sizeof(words)) {
		if (memory_read(l->memory, addr, words, sizeof(words)))
			continue;
		for (__u32 i = 0; i < 512; i++) {
			__u64 type_addr = addr + 8 * i - name_off;

			if (words[i] < module_start || words[i] >= module_end ||
			    !text_is(l, words[i], TYPE_NAME) || !is_of_type(l, type_addr, "type") ||
			    read_word(l, type_addr + name_off + TYPE_SIZE, &l->size))
				continue;
			l->one = l->size >= ONE_SIZE_MIN && l->size <= ONE_SIZE_MAX;
			if (!l->one && l->size != OTHER_SIZE)
				return -ENOTSUP;
			l->type_addr = type_addr;
			return 0;
		}
	}
	return -ENOENT;
}

static bool inherits(const struct greenlet_layout *l, __u64 type_addr)
{
	for (int i = 0; i < BASES_MAX && type_addr && !(type_addr % 8); i++) {
		if (type_addr == l->type_addr)
			return true;
		if (read_word(l, type_addr + (__u64)l->offsets->object.tp_name + TYPE_BASE,
			      &type_addr))
			return false;
	}
	return false;
}

bool greenlet_layout_is_type(struct greenlet_layout *l, __u64 type_addr)
{
	__u32 at = hash_word(type_addr) % GREENLET_TYPES;

	if (!type_addr)
		return false;
	if (l->types[at].addr != type_addr) {
		l->types[at].addr = type_addr;
		l->types[at].is_greenlet = inherits(l, type_addr);
	}
	return l->types[at].is_greenlet;
}

void greenlet_layout_type_name(const struct greenlet_layout *l, __u64 type_addr, char *ret,
			       __u32 size)
{
	char text[128] = "";
	const char *dot;
	__u64 addr;

	*ret = '\0';
	if (read_word(l, type_addr + (__u64)l->offsets->object.tp_name, &addr))
		return;
	/* The page may end right behind it. */
	for (__u32 i = 0; i < sizeof(text) - 1; i++)
		if (memory_read(l->memory, addr + i, &text[i], 1) || !text[i])
			break;
	text[sizeof(text) - 1] = '\0';
	dot = strrchr(text, '.');
	dot = dot ? dot + 1 : text;
	size = strlen(dot) < size ? (__u32)strlen(dot) : size - 1;
	memcpy(ret, dot, size);
	ret[size] = '\0';
}

/* ---- one greenlet ----------------------------------------------------------------------------- */

/* The stack members, and what follows, as laid out in memory. */
struct stack {
	__u64 start, stop, copy, saved, prev;
};

struct impl {
	__u64 addr;
	__u64 words[IMPL_SIZE / 8]; /* what is absent is 0 */
	struct stack stack;
	__u64 top_frame_addr;
	bool self_first; /* 3.1 and later */
};

static __u64 impl_word(const struct impl *x, __u32 off)
{
	return off % 8 || off >= IMPL_SIZE ? 0 : x->words[off / 8];
}

static void read_available(const struct greenlet_layout *l, __u64 addr, void *ret, size_t size)
{
	size_t first = 4096 - addr % 4096;

	memset(ret, 0, size);
	if (!memory_read(l->memory, addr, ret, size) || first >= size)
		return;
	if (memory_read(l->memory, addr, ret, first))
		memset(ret, 0, size);
}

/* The offset of the stack members. */
static __u32 stack_at(const struct greenlet_layout *l, bool self_first)
{
	const __u32 exceptions = l->offsets->version >= 0x030b0000 ? 24 : 40;

	return l->one ? 16 : (self_first ? 16 : 8) + exceptions + 16;
}

static int read_impl(const struct greenlet_layout *l, __u64 addr, struct impl *ret)
{
	__u32 at;

	if (l->one) {
		ret->addr = addr;
	} else {
		if (read_word(l, addr + OTHER_IMPL, &ret->addr))
			return -EFAULT;
		if (!ret->addr || ret->addr % 8)
			return -ENOTSUP;
	}
	read_available(l, ret->addr, ret->words, sizeof(ret->words));
	ret->self_first = !l->one && ret->words[1] == addr;
	at = stack_at(l, ret->self_first);
	ret->stack = (struct stack){ impl_word(ret, at), impl_word(ret, at + 8),
				     impl_word(ret, at + 16), impl_word(ret, at + 24),
				     impl_word(ret, at + 32) };
	ret->top_frame_addr = impl_word(ret, l->one ? ONE_TOP_FRAME : at + TOP_FRAME_BEHIND);
	return 0;
}

int greenlet_layout_learn(struct greenlet_layout *l, __u64 addr)
{
	struct impl x;
	__u64 main_addr;
	int err = read_impl(l, addr, &x);

	if (err || l->one || x.stack.stop != STACK_MAIN)
		return err;
	for (__u32 at = END_MIN; at + 8 < IMPL_SIZE; at += 8) {
		__u64 state_addr = impl_word(&x, at + 8);

		if (impl_word(&x, at) != addr)
			continue;
		/* The thread has ended: that proves little. */
		if (!state_addr)
			return 0;
		if (read_word(l, state_addr, &main_addr) || main_addr != addr)
			continue;
		if (l->end && l->end != at)
			return -ENOTSUP;
		l->end = at;
		return 0;
	}
	return -ENOTSUP;
}

static bool is_greenlet(struct greenlet_layout *l, __u64 addr)
{
	__u64 type_addr;

	return addr && !(addr % 8) &&
	       !read_word(l, addr + (__u64)l->offsets->object.ob_type, &type_addr) &&
	       greenlet_layout_is_type(l, type_addr);
}

/*
 * The parent of a greenlet that is not a main one; also verifies that the C++ object is this
 * greenlet's.
 */
static int take_parent(struct greenlet_layout *l, const struct impl *x, struct greenlet *g)
{
	__u32 self = x->self_first ? 8 : l->end, parent = l->end + (x->self_first ? 16 : 24);

	if (!l->one && !l->end)
		return -ENOTSUP;
	if (!l->one && impl_word(x, self) != g->addr)
		return -ENOTSUP;
	if (g->is_main) {
		g->has_thread = l->one || impl_word(x, l->end + 8);
		return !l->one || !impl_word(x, ONE_PARENT) ? 0 : -ENOTSUP;
	}
	g->parent_addr = impl_word(x, l->one ? ONE_PARENT : parent);
	return !g->parent_addr || is_greenlet(l, g->parent_addr) ? 0 : -ENOTSUP;
}

/* The frame object must point to its frame, and the frame back. */
static int take_frame(const struct greenlet_layout *l, const struct impl *x, struct greenlet *g)
{
	const struct py_offsets *off = l->offsets;
	__u64 object_addr = x->top_frame_addr, back_addr;
	__s32 after = off->frame_kind == PY_FRAME_IS_ENTRY ? off->frame.previous :
							     off->frame.instr_ptr;

	if (!is_of_type(l, object_addr, "frame"))
		return -ENOTSUP;
	g->frame_addr = object_addr;
	if (off->frame_kind == PY_FRAME_OBJECT)
		return 0;
	if (read_word(l, object_addr + (__u64)off->object.ob_type + 8 + FRAME_OF_OBJECT,
		      &g->frame_addr) ||
	    read_word(l, g->frame_addr + (__u64)after - 8, &back_addr))
		return -EFAULT;
	return back_addr == object_addr ? 0 : -ENOTSUP;
}

static int take_stack(const struct impl *x, struct greenlet *g)
{
	const struct stack *s = &x->stack;

	/* One that has not begun has never been on a thread's stack. */
	g->stack_addr = g->is_main ? s->start : s->stop ? s->stop - 1 : 0;
	if (g->state != GREENLET_SUSPENDED)
		return 0;
	if (s->start >= s->stop || s->saved > STACK_SIZE_MAX ||
	    (s->saved && (!s->copy || s->saved > s->stop - s->start)))
		return -ENOTSUP;
	g->saved_addr = s->start;
	g->saved_size = s->saved;
	g->copy_addr = s->copy;
	return 0;
}

static enum greenlet_state state_of(const struct impl *x)
{
	if (!x->stack.stop)
		return GREENLET_NEW;
	if (!x->stack.start)
		return GREENLET_DEAD;
	return x->top_frame_addr ? GREENLET_SUSPENDED : GREENLET_RUNS;
}

int greenlet_layout_read(struct greenlet_layout *l, __u64 addr, struct greenlet *ret)
{
	struct impl x;
	int err;

	*ret = (struct greenlet){ .addr = addr };
	if (read_word(l, addr + (__u64)l->offsets->object.ob_type, &ret->type_addr))
		return -EFAULT;
	if (!greenlet_layout_is_type(l, ret->type_addr))
		return -ENOTSUP;
	err = read_impl(l, addr, &x);
	if (err)
		return err;
	ret->is_main = x.stack.stop == STACK_MAIN;
	ret->state = state_of(&x);
	err = take_parent(l, &x, ret);
	if (!err && ret->state == GREENLET_SUSPENDED)
		err = take_frame(l, &x, ret);
	return err ? err : take_stack(&x, ret);
}

int greenlet_layout_place(const struct greenlet_layout *l, __u64 main_addr, __u64 state_addr,
			  struct greenlet_place *ret)
{
	struct impl x;
	__u32 at;

	if (l->one || !l->end || read_impl(l, main_addr, &x) || x.stack.stop != STACK_MAIN ||
	    impl_word(&x, l->end) != main_addr || impl_word(&x, l->end + 8) != state_addr)
		return -ENOTSUP;
	at = stack_at(l, x.self_first);
	ret->impl = OTHER_IMPL;
	ret->size = (__u8)(l->end + 16);
	ret->self = (__u8)(x.self_first ? 8 : l->end);
	ret->parent = (__u8)(l->end + (x.self_first ? 16 : 24));
	ret->stack_start = (__u8)at;
	ret->stack_stop = (__u8)(at + 8);
	ret->top_frame = (__u8)(at + TOP_FRAME_BEHIND);
	return 0;
}
