/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look_thread.h - one thread of a process: its frames, with their variables.
 *
 * Must hold: a frame owns its texts and variables; moving variables leaves none behind.
 */
#ifndef KRAIT_LOOK_DUMP_LOOK_THREAD_H
#define KRAIT_LOOK_DUMP_LOOK_THREAD_H

#include <linux/types.h>
#include <stdbool.h>

#include "process/probe/probe_threads.h"

struct dict;

struct look_local {
	char *name, *value; /* UTF-8, as repr() shows it (python/values/object_text.h) */
	bool changed; /* it changed while it was read */
};

struct look_frame {
	char *name; /* UTF-8, never NULL */
	char *file; /* UTF-8, never NULL, "": unknown */
	int line; /* -1: unknown */
	bool mark; /* krait's own remark, such as "[truncated: depth]" */
	bool native; /* C code: file is the library or executable */
	struct look_local *locals;
	__u32 local_cnt;
};

enum look_how {
	LOOK_NONE, /* no stack: why has the reason */
	LOOK_AT_REST, /* it did not run while its stack was walked */
	LOOK_INTERRUPTED, /* walked by the kernel, in its own interrupt */
	LOOK_NATIVE, /* it has no Python state: there is nothing to walk */
	LOOK_ENDED, /* only its folder in /proc is left: the first thread, before all others */
};

struct look_thread {
	struct probe_thread os; /* what the kernel says about it */
	char *name; /* Thread.name, UTF-8; NULL: unknown */
	enum look_how how;
	const char *why; /* LOOK_NONE: a sentence; static */
	bool joined; /* its native frames are included */
	struct look_frame *frames; /* leaf first */
	__u32 frame_cnt, frame_cap;
};

/* Same frames, by name and line, and the same state as in an earlier look? */
bool look_thread_equal(const struct look_thread *a, const struct look_thread *b)
	__attribute__((nonnull));

/* The new last frame, or NULL: out of memory. The texts are copied. */
struct look_frame *look_thread_add(struct look_thread *t, const char *name, const char *file,
				   int line) __attribute__((warn_unused_result, nonnull));
/* The same of a frame of a profile. 0 or -ENOMEM. */
int look_thread_add_profiled(struct look_thread *t, const struct dict *dict, __u32 frame)
	__attribute__((warn_unused_result, nonnull));
/* The same for krait's own remark. 0 or -ENOMEM. */
int look_thread_add_mark(struct look_thread *t, const char *name)
	__attribute__((warn_unused_result, nonnull));
/*
 * Moves the variables of from's frames to those of to: from the root on, as long as both stacks are
 * in the same function and at the same call. The first frame where only the call differs is
 * included: it is still the same run of that function.
 */
void look_thread_move_locals(struct look_thread *from, struct look_thread *to)
	__attribute__((nonnull));
/*
 * Replaces the stack by from's, which has native frames; from is empty then. at_rest: from was
 * taken while the thread was off the CPU. Variables known without them stay where the stacks are
 * the same.
 */
void look_thread_join(struct look_thread *t, struct look_thread *from, bool at_rest)
	__attribute__((nonnull));
void look_thread_clear(struct look_thread *t) __attribute__((nonnull));

#endif /* KRAIT_LOOK_DUMP_LOOK_THREAD_H */
