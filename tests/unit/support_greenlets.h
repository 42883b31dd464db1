/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_greenlets.h - a process with greenlets, made of bytes, in each of greenlet's layouts: a
 * main one, a hub, one that waits, one whose stack is deep and partly copied away, and one that has
 * not started.
 */
#ifndef KRAIT_TESTS_SUPPORT_GREENLETS_H
#define KRAIT_TESTS_SUPPORT_GREENLETS_H

#include "support_fake_interpreter.h"
#include "process/probe/probe_greenlets.h"

#define GREENLETS_ADDR 0x7f0000000000ULL
#define GREENLETS_SIZE (512 << 10)
#define GREENLETS_THREAD_ID 4711
/* Offset in PyInterpreterState. */
#define GREENLETS_GC 4096
#define GREENLETS_OLD (GREENLETS_GC - 104) /* head of the list that contains them */
/* Where the last part of a C++ object begins in 3.12: layouts 2 and 3. */
#define GREENLETS_END_2 160
#define GREENLETS_END_3 168

enum layout { ONE, TWO, THREE };

struct greenlets {
	struct fake *f;
	enum layout layout;
	__u64 interp, type_type, frame_type, greenlet_type, hub_type;
	__u64 main, hub, waits, deep, fresh; /* greenlets */
	__u64 stack; /* the thread's stack */
	__u64 frame_objects[8];
	__u32 frame_cnt;
	struct probe_tasks list;
};

/* Builds it anew, dropping the old content. All zero initially. */
void greenlets_build(struct greenlets *x, enum layout layout);
__u64 greenlets_put_text(struct fake *f, const char *text);
/* Adds a greenlet with that parent, which has not started. */
__u64 greenlets_put(struct greenlets *x, __u64 parent);

/*
 * Return where a greenlet has its implementation (since 2.0 separate from the object), stack, frame
 * and parent.
 */
__u64 greenlets_impl(struct greenlets *x, __u64 greenlet);
__u64 greenlets_stack(struct greenlets *x, __u64 greenlet);
__u64 greenlets_top_frame(struct greenlets *x, __u64 greenlet);
__u64 greenlets_parent(struct greenlets *x, __u64 greenlet);

#endif /* KRAIT_TESTS_SUPPORT_GREENLETS_H */
