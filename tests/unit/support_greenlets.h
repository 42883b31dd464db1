/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_greenlets.h - a process with greenlets, made of bytes, in each of the layouts that greenlet has had: a main one, a hub,
 * one that waits, one whose stack is deep and partly elsewhere, and one that has not begun.
 */
#ifndef KRAIT_TESTS_SUPPORT_GREENLETS_H
#define KRAIT_TESTS_SUPPORT_GREENLETS_H

#include "support_fake_interpreter.h"
#include "target/probe_greenlets.h"

#define GREENLETS_ADDR 0x7f0000000000ULL
#define GREENLETS_SIZE (512 << 10)
#define GREENLETS_THREAD_ID 4711
/* In a PyInterpreterState. */
#define GREENLETS_GC 4096
#define GREENLETS_OLD (GREENLETS_GC - 104) /* the head of the list in which they are */
/* Where the end of a C++ object begins in 3.12: of layouts 2 and 3. */
#define GREENLETS_END_2 160
#define GREENLETS_END_3 168

enum layout { ONE, TWO, THREE };

struct greenlets {
	struct fake *f;
	enum layout layout;
	__u64 interp, type_type, frame_type, greenlet_type, hub_type;
	__u64 main, hub, waits, deep, fresh; /* greenlets */
	__u64 stack; /* of the thread */
	__u64 frame_objects[8];
	__u32 frame_cnt;
	struct probe_tasks list;
};

/* Anew; what was there goes. All zero at first. */
void greenlets_build(struct greenlets *x, enum layout layout);
__u64 greenlets_put_text(struct fake *f, const char *text);
/* One more of that parent, which has not begun. */
__u64 greenlets_put(struct greenlets *x, __u64 parent);

/* Where these are in a greenlet: its implementation (from 2.0 on apart from the object), stack, frame and parent. */
__u64 greenlets_impl(struct greenlets *x, __u64 greenlet);
__u64 greenlets_stack(struct greenlets *x, __u64 greenlet);
__u64 greenlets_top_frame(struct greenlets *x, __u64 greenlet);
__u64 greenlets_parent(struct greenlets *x, __u64 greenlet);

#endif /* KRAIT_TESTS_SUPPORT_GREENLETS_H */
