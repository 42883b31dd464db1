/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct thread {
	pid_t tid;
	pid_t pid;
	__u64 start_ns;
	__u64 code_generation;
	__u64 interp_addr;
	__u64 last_use; /* stacks.clock when sampled last */
	__u32 cap;
	struct frame *frames;
	struct stack stack;
	UT_hash_handle hh;
};

struct stacks {
	struct thread *by_tid;
	__u64 clock;
	__u64 frame_cnt; /* Σ cap */
};

struct stacks *stacks__new(void)
{
	return calloc(1, sizeof(struct stacks));
}

static void thread_free(struct stacks *stacks, struct thread *t)
{
	stacks->frame_cnt -= t->cap;
	HASH_DEL(stacks->by_tid, t);
	free(t->frames);
	free(t->stack.tags);
	free(t);
}

void stacks__free(struct stacks *stacks)
{
	struct thread *t, *next;

	if (!stacks)
		return;
	HASH_ITER(hh, stacks->by_tid, t, next)
		thread_free(stacks, t);
	free(stacks);
}

/* Forgets the thread sampled longest ago, other than keep. */
static void evict_one(struct stacks *stacks, const struct thread *keep)
{
	struct thread *t, *next, *oldest = NULL;

	HASH_ITER(hh, stacks->by_tid, t, next) {
		if (t != keep && (!oldest || t->last_use < oldest->last_use))
			oldest = t;
	}
	if (oldest)
		thread_free(stacks, oldest);
}

static int reserve(struct stacks *stacks, struct thread *t, __u32 cnt)
{
	__u32 cap = t->cap ? t->cap : 32;
	struct frame *frames;
	__u32 *tags;

	if (cnt <= t->cap)
		return 0;
	while (cap < cnt)
		cap *= 2;
	frames = realloc(t->frames, cap * sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	t->frames = frames;
	t->stack.frames = frames;
	tags = realloc(t->stack.tags, cap * sizeof(*tags));
	if (!tags)
		return -ENOMEM;
	t->stack.tags = tags;
	stacks->frame_cnt += cap - t->cap;
	t->cap = cap;
	while (stacks->frame_cnt > STACKS_MAX_FRAMES && HASH_COUNT(stacks->by_tid) > 1)
		evict_one(stacks, t);
	return 0;
}

static struct thread *find_thread(struct stacks *stacks, const struct event_sample *event)
{
	pid_t tid = event->tid;
	struct thread *t;

	HASH_FIND_INT(stacks->by_tid, &tid, t);
	if (t && t->start_ns != event->thread_start_ns) {
		thread_free(stacks, t);
		t = NULL;
	}
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->tid = tid;
	t->pid = event->pid;
	t->start_ns = event->thread_start_ns;
	HASH_ADD_INT(stacks->by_tid, tid, t);
	return t;
}

/* Frames on the root side that are the same in both; the record's are leaf first. */
static __u32 common_root(const struct thread *t, const struct frame *frames, __u32 cnt)
{
	__u32 max = cnt < t->stack.cnt ? cnt : t->stack.cnt, i = 0;

	while (i < max && !memcmp(&t->frames[i], &frames[cnt - 1 - i], sizeof(*frames)))
		i++;
	return i;
}

struct stack *stacks__merge(struct stacks *stacks, const struct event_sample *event,
			    const struct frame *frames)
{
	struct thread *t = find_thread(stacks, event);
	__u32 cnt = event->frame_cnt, kept = 0;

	if (!t || reserve(stacks, t, cnt))
		return NULL;
	t->last_use = ++stacks->clock;
	if (t->code_generation == event->code_generation && t->interp_addr == event->interp_addr)
		kept = common_root(t, frames, cnt);
	for (__u32 i = kept; i < cnt; i++)
		t->frames[i] = frames[cnt - 1 - i];
	t->code_generation = event->code_generation;
	t->interp_addr = event->interp_addr;
	t->stack.cnt = cnt;
	t->stack.kept = kept;
	return &t->stack;
}

void stacks__remove_thread(struct stacks *stacks, pid_t tid)
{
	struct thread *t;

	HASH_FIND_INT(stacks->by_tid, &tid, t);
	if (t)
		thread_free(stacks, t);
}

void stacks__remove_process(struct stacks *stacks, pid_t pid)
{
	struct thread *t, *next;

	HASH_ITER(hh, stacks->by_tid, t, next) {
		if (t->pid == pid)
			thread_free(stacks, t);
	}
}
