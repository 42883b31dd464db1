/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread_stacks.h - a list of threads (probe_threads.h) while it is built: everything that comes
 * out of the process's memory, be it alive or a core file. The caller supplies which threads there
 * are and what each is doing.
 */
#ifndef KRAIT_PROCESS_PROBE_THREAD_STACKS_H
#define KRAIT_PROCESS_PROBE_THREAD_STACKS_H

#include "python/values/object_layout.h"
#include "process/probe/probe_threads.h"
#include "base/data/bytes.h"
#include "base/data/memory.h"
#include "python/walk/stack_walk.h"
#include "python/walk/thread_list.h"

/* The name that a program has given to the thread with that pointer. */
struct named {
	__u64 thread_ptr;
	__u32 name; /* offset in texts */
	bool changed;
};

struct page_cache;

struct thread_stacks {
	const struct probe_threads_ask *ask; /* borrowed */
	struct memory memory;
	struct stack_walk walk;
	struct page_cache *first, *again; /* two separate views of it, for variables and names */
	struct thread_list_entry states[KRAIT_MAX_THREADS];
	__u32 state_cnt;
	struct stack_walk_result walked, walked_again;
	struct probe_threads_head head;
	struct probe_thread threads[PROBE_THREADS_MAX];
	struct frame frames[PROBE_THREADS_FRAMES_MAX];
	struct object_layout layout;
	struct probe_interp interps[PROBE_THREADS_INTERPS_MAX];
	struct named *named;
	__u32 named_cnt, named_cap;
	__u32 frame; /* the frame whose variables are being taken */
	struct probe_local locals[PROBE_THREADS_LOCALS_MAX];
	char texts[PROBE_THREADS_TEXT_MAX];
	struct bytes stacks; /* copies of C stacks */
};

/* NULL: out of memory. The memory's ctx is borrowed. */
struct thread_stacks *thread_stacks__new(const struct probe_threads_ask *ask,
					 const struct memory *memory)
	__attribute__((warn_unused_result, nonnull));
void thread_stacks__free(struct thread_stacks *s);

/* Reads thread states, interpreters and names; call first. */
void thread_stacks__begin(struct thread_stacks *s) __attribute__((nonnull));
/* Is there no room for one more thread with a stack? */
bool thread_stacks__is_full(const struct thread_stacks *s) __attribute__((nonnull));
/* The state of the thread with that id in its own pid namespace, or NULL; also fills t's name. */
const struct thread_list_entry *thread_stacks__state_of(const struct thread_stacks *s,
							struct probe_thread *t)
	__attribute__((nonnull));
/*
 * Appends its stack, whether it holds or awaits the GIL, and its variables. The caller must first take back
 * the results of an earlier try.
 */
void thread_stacks__walk(struct thread_stacks *s, struct probe_thread *t,
			 const struct thread_list_entry *state) __attribute__((nonnull));
/*
 * The same for a running thread, with variables only of frames that it had before and still has.
 * False: there are none.
 */
bool thread_stacks__walk_moving(struct thread_stacks *s, struct probe_thread *t,
				const struct thread_list_entry *state) __attribute__((nonnull));
/* To go back to where the variables of a thread began. */
struct thread_stacks_mark {
	__u32 local_cnt, text_len;
};
struct thread_stacks_mark thread_stacks__mark(const struct thread_stacks *s)
	__attribute__((nonnull));
void thread_stacks__back(struct thread_stacks *s, struct thread_stacks_mark mark)
	__attribute__((nonnull));
/* Keeps the stack that was walked last: it is valid. */
void thread_stacks__keep(struct thread_stacks *s, struct probe_thread *t) __attribute__((nonnull));

/* Writes everything in the order of a list, in parts. Returns 0, or the error of write. */
int thread_stacks__write(const struct thread_stacks *s,
			 int (*write)(void *ctx, const void *data, size_t len), void *ctx)
	__attribute__((warn_unused_result, nonnull(1, 2)));

#endif /* KRAIT_PROCESS_PROBE_THREAD_STACKS_H */
