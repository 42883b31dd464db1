/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/follow/threads.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "record/follow/name_watch.h"
#include "record/follow/processes.h"

/*
 * Threads that have ended lately: the kernel reports that before their last samples, in the last
 * moments of which they are still the same threads.
 */
#define PAST_CNT 256

struct past {
	pid_t tid;
	__u64 start_ns; /* 0: none */
	__u32 number;
	char given[sizeof(((struct thread *)0)->given)];
};

struct threads {
	struct past past[PAST_CNT]; /* by tid */
	struct thread *by_tid;
	struct thread_list by_use; /* least recently sampled first */
	thread_gone_fn gone;
	void *gone_ctx;
	__u32 last_number;
	size_t own_size;
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

void threads__make_room(struct threads *ts, size_t own_size)
{
	ts->own_size = own_size;
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

static void remember(struct threads *ts, const struct thread *t)
{
	struct past *past = &ts->past[(unsigned)t->tid % PAST_CNT];

	*past = (struct past){ .tid = t->tid, .start_ns = t->start_ns, .number = t->number };
	memcpy(past->given, t->given, sizeof(past->given));
}

static void recall(struct threads *ts, struct thread *t)
{
	const struct past *past = &ts->past[(unsigned)t->tid % PAST_CNT];

	if (past->tid != t->tid || past->start_ns != t->start_ns) {
		t->number = ++ts->last_number;
		return;
	}
	t->number = past->number;
	memcpy(t->given, past->given, sizeof(t->given));
}

struct thread *threads__peek(const struct threads *ts, pid_t tid, __u64 start_ns)
{
	struct thread *t;

	HASH_FIND_INT(ts->by_tid, &tid, t);
	return t && t->start_ns == start_ns ? t : NULL;
}

bool threads__is_full(const struct threads *ts)
{
	return HASH_COUNT(ts->by_tid) >= THREADS_MAX;
}

struct thread *threads__add(struct threads *ts, struct process *p, pid_t tid, __u64 start_ns)
{
	struct thread *t;

	HASH_FIND_INT(ts->by_tid, &tid, t);
	if (t)
		threads__remove(ts, t); /* its end was not reported */
	if (HASH_COUNT(ts->by_tid) >= THREADS_MAX)
		threads__remove(ts, TAILQ_FIRST(&ts->by_use));
	t = calloc(1, sizeof(*t) + ts->own_size);
	if (!t)
		return NULL;
	t->own = (struct thread_own *)(t + 1);
	t->tid = tid;
	t->start_ns = start_ns;
	t->process = p;
	recall(ts, t);
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
	name_watch_thread_gone(t);
	remember(ts, t);
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
