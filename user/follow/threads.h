/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * threads.h - the threads that were sampled, and what is kept of each.
 *
 * A thread belongs to its process: it is removed when it ends, when the process ends, and when the process executes
 * another image. One callback (thread_gone_fn) informs all code that keeps something for a thread.
 *
 * Must hold: a reused thread id inherits nothing; memory is bounded (beyond THREADS_MAX the thread sampled
 * longest ago goes, which costs time, never truth).
 */
#ifndef KRAIT_FOLLOW_THREADS_H
#define KRAIT_FOLLOW_THREADS_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <uthash.h>

/* About 250 bytes each, and what the stacks hold (stack/stacks.h). */
#define THREADS_MAX 65536

struct last_stack;
struct process;

struct thread {
	pid_t tid;
	__u64 start_ns; /* with the tid it says which thread this is */
	struct process *process;
	__u32 number; /* no other thread of the recording has it; from 1 */
	__u32 slot; /* sampler/slots.h, KRAIT_NO_SLOT: none */
	char comm[16]; /* of the kernel, that node and name were made with */
	char name[64]; /* printable */
	__u64 node; /* the collector's tag; 0 not there yet */
	__u64 tstate_addr; /* of its last sample; 0 none */
	__u64 interp_addr; /* another interpreter than the oldest, that it was in last; 0 none */
	__u64 came_ns; /* when its last wait that has a sample was over; 0 none */
	bool has_callers; /* there: from an older one (interpreters.h) */
	struct last_stack *stack; /* NULL before the first one */
	TAILQ_ENTRY(thread) of_process, by_use;
	UT_hash_handle hh;
};
TAILQ_HEAD(thread_list, thread);

struct threads;

/* Before its memory goes. */
typedef void (*thread_gone_fn)(void *ctx, struct thread *thread);

/* NULL and errno on failure. */
struct threads *threads__new(void);
/* Every process has gone. */
void threads__free(struct threads *ts);
void threads__on_gone(struct threads *ts, thread_gone_fn fn, void *ctx);

/* The thread of that id and start, which counts as the one used last, or NULL. */
struct thread *threads__find(struct threads *ts, pid_t tid, __u64 start_ns);
/* One that is not there yet; another one of that id goes. NULL when out of memory. */
struct thread *threads__add(struct threads *ts, struct process *p, pid_t tid, __u64 start_ns);
void threads__remove(struct threads *ts, struct thread *t);
/* All of a process. */
void threads__remove_all(struct threads *ts, struct process *p);

unsigned threads__cnt(const struct threads *ts);

#endif /* KRAIT_FOLLOW_THREADS_H */
