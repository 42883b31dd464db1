/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * threads.h - the threads that were sampled, and what is kept for each.
 *
 * A thread belongs to its process: it is removed when it ends, when the process ends, and when the
 * process executes another image. One callback (thread_gone_fn) informs all code that keeps
 * something for a thread.
 *
 * Must hold: a reused thread id inherits nothing; memory is bounded (beyond THREADS_MAX the least
 * recently sampled thread goes, which costs time, never truth).
 */
#ifndef KRAIT_RECORD_FOLLOW_THREADS_H
#define KRAIT_RECORD_FOLLOW_THREADS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <uthash.h>

#include "bpf/abi.h"

/* About 250 bytes each, plus what their stacks hold (record/stack/stacks.h). */
#define THREADS_MAX 65536

struct process;

/* How a thread stands to looks at its name (name_watch.h): in which list it is. */
enum thread_naming { NAMING_NONE, NAMING_WAITS, NAMING_ASKED };
TAILQ_HEAD(thread_waiting, thread);
struct thread {
	pid_t tid;
	__u64 start_ns; /* identifies the thread together with the tid */
	struct process *process;
	__u32 number; /* unique in the recording; from 1 */
	__u32 slot; /* kernel/maps/slots.h; KRAIT_NO_SLOT: none */
	char given[64]; /* the program's (name_watch.h), printable; "": none, or not known yet */
	enum thread_naming naming;
	__u8 looks; /* likewise: begun so far, up to a few */
	__u64 thread_ptr; /* pthread_self(), if it has run Python; else 0 */
	struct thread_own *own; /* what the session keeps for it (threads__make_room()) */
	TAILQ_ENTRY(thread) of_process, by_use, waiting;
	UT_hash_handle hh;
};
TAILQ_HEAD(thread_list, thread);

struct threads;

/* Called before its memory goes. */
typedef void (*thread_gone_fn)(void *ctx, struct thread *thread);

/* NULL and errno on failure. */
struct threads *threads__new(void);
/* Call when every process has gone. */
void threads__free(struct threads *ts);
/* Size of thread.own, which is all zero at first. Call before the first thread is added. */
void threads__make_room(struct threads *ts, size_t own_size);
void threads__on_gone(struct threads *ts, thread_gone_fn fn, void *ctx);

/* The thread with that tid and start, now the most recently used; or NULL. */
struct thread *threads__find(struct threads *ts, pid_t tid, __u64 start_ns);
/* The same, and as recently used as before. */
struct thread *threads__peek(const struct threads *ts, pid_t tid, __u64 start_ns);
bool threads__is_full(const struct threads *ts);
/* Adds a thread; removes another one with the same tid. NULL: out of memory. */
struct thread *threads__add(struct threads *ts, struct process *p, pid_t tid, __u64 start_ns);
void threads__remove(struct threads *ts, struct thread *t);
/* Removes all threads of a process. */
void threads__remove_all(struct threads *ts, struct process *p);

#endif /* KRAIT_RECORD_FOLLOW_THREADS_H */
