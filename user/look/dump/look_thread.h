/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look_thread.h - one thread of a process: its frames, with their variables. Whoever walks it hands
 * over a list with names (record/samples/stack_nodes.h).
 *
 * What different looks say of a thread belongs together by the addresses of its frames, from the root
 * on: two frames are the same run of a function if frame and code are at the same addresses, and their
 * callers are at the same calls.
 *
 * Must hold: texts belong to the process's strings; moving variables leaves none behind.
 */
#ifndef KRAIT_LOOK_DUMP_LOOK_THREAD_H
#define KRAIT_LOOK_DUMP_LOOK_THREAD_H

#include <linux/types.h>
#include <stdbool.h>

#include "process/probe/probe_threads.h"
#include "profile/strtab.h"

struct dict;
struct stack_nodes;

struct look_local {
	const char *name, *value; /* UTF-8, as repr() shows it (python/values/object_text.h) */
	bool changed; /* it changed while it was read */
};

struct look_frame {
	const char *name, *file; /* UTF-8, never NULL; file "": unknown */
	int line; /* -1: unknown */
	bool mark; /* krait's own remark, such as "[truncated: depth]" */
	bool native; /* C code: file is the library or executable */
	struct frame python; /* as it was walked; all zero: it is none */
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
	const char *name; /* Thread.name, UTF-8; NULL: unknown */
	enum look_how how;
	const char *why; /* LOOK_NONE: a sentence; static */
	bool joined; /* its native frames are included */
	struct look_frame *frames; /* leaf first */
	__u32 frame_cnt, frame_cap;
};

/* A text of strings, which stays there; "" if out of memory. */
const char *look_text(struct strtab *strings, const char *text) __attribute__((nonnull));
/* A frame of the dictionary. */
struct look_frame look_frame_of(struct strtab *strings, const struct dict *dict, __u32 frame)
	__attribute__((nonnull));
/* Same frames, by name and line, and the same state as in an earlier look? */
bool look_thread_equal(const struct look_thread *a, const struct look_thread *b)
	__attribute__((nonnull));
/* The thread's frames are those of the list from now on. Returns 0 or -ENOMEM. */
int look_thread_take(struct look_thread *t, struct strtab *strings, const struct stack_nodes *list)
	__attribute__((warn_unused_result, nonnull));
/*
 * Moves the variables of from's frames to those of to that are the same runs. The first frame where
 * only the call differs is included: it is still the same run of that function.
 */
void look_thread_move_locals(struct look_thread *from, struct look_thread *to)
	__attribute__((nonnull));
/*
 * Replaces the stack by from's, which has native frames; from is empty then. at_rest: from was
 * taken while the thread was off the CPU. What is known of variables stays.
 */
void look_thread_join(struct look_thread *t, struct look_thread *from, bool at_rest)
	__attribute__((nonnull));
/* Frees its frames. */
void look_thread_clear(struct look_thread *t) __attribute__((nonnull));

#endif /* KRAIT_LOOK_DUMP_LOOK_THREAD_H */
