/* SPDX-License-Identifier: BSD-2-Clause */
#include "follow/threads.h"

#include <stdlib.h>

#include "abi.h"
#include "follow/processes.h"

struct threads {
	struct thread *by_tid;
	struct thread_list by_use; /* least recently sampled first */
	thread_gone_fn gone;
	void *gone_ctx;
	__u32 last_number;
};

struct threads *threads__new(void)
{
	struct threads *ts = calloc(1, sizeof(*ts));

	if (ts)
		TAILQ_INIT(&ts->by_use);
	return ts;
}

void threads__free(struct threads *ts)
{
	free(ts);
}

void threads__on_gone(struct threads *ts, thread_gone_fn fn, void *ctx)
{
	ts->gone = fn;
	ts->gone_ctx = ctx;
}

struct thread *threads__find(struct threads *ts, pid_t tid, __u64 start_ns)
{
	struct thread *t;

	HASH_FIND_INT(ts->by_tid, &tid, t);
	if (!t || t->start_ns != start_ns)
		return NULL;
	TAILQ_REMOVE(&ts->by_use, t, by_use);
	TAILQ_INSERT_TAIL(&ts->by_use, t, by_use);
	return t;
}

struct thread *threads__add(struct threads *ts, struct process *p, pid_t tid, __u64 start_ns)
{
	struct thread *t;

	HASH_FIND_INT(ts->by_tid, &tid, t);
	if (t)
		threads__remove(ts, t); /* its end was not reported */
	if (HASH_COUNT(ts->by_tid) >= THREADS_MAX)
		threads__remove(ts, TAILQ_FIRST(&ts->by_use));
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->tid = tid;
	t->start_ns = start_ns;
	t->process = p;
	t->number = ++ts->last_number;
	t->slot = KRAIT_NO_SLOT;
	HASH_ADD_INT(ts->by_tid, tid, t);
	TAILQ_INSERT_TAIL(&ts->by_use, t, by_use);
	TAILQ_INSERT_TAIL(&p->threads, t, of_process);
	return t;
}

void threads__remove(struct threads *ts, struct thread *t)
{
	if (ts->gone)
		ts->gone(ts->gone_ctx, t);
	TAILQ_REMOVE(&t->process->threads, t, of_process);
	TAILQ_REMOVE(&ts->by_use, t, by_use);
	HASH_DEL(ts->by_tid, t);
	free(t);
}

void threads__remove_all(struct threads *ts, struct process *p)
{
	struct thread *t;

	while ((t = TAILQ_FIRST(&p->threads)))
		threads__remove(ts, t);
}

unsigned threads__cnt(const struct threads *ts)
{
	return HASH_COUNT(ts->by_tid);
}
