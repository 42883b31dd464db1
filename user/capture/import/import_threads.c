/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/import/import_threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/hash.h"
#include "base/text/mentions.h"
#include "base/text/printable.h"
#include "base/data/vec.h"

/* Limit for hostile files; a machine has at most 4 million at once. */
#define MAX_TASKS (1U << 20)

/* ---- stacks ------------------------------------------------------------------------------------ */

static void stacks_free(struct import_stacks *s)
{
	for (__u32 i = 0; s->places && i < IMPORT_STACKS_PLACES; i++)
		free(s->places[i].chain);
	free(s->places);
	s->places = NULL;
}

static void stacks_clear(struct import_stacks *s)
{
	if (++s->epoch)
		return;
	/* All epoch numbers have been used once. */
	for (__u32 i = 0; s->places && i < IMPORT_STACKS_PLACES; i++)
		s->places[i].node = 0;
}

static struct import_stack *place_of(const struct import_stacks *s, __u32 thread,
				     const __u64 *chain, unsigned cnt)
{
	__u64 hash = thread;

	for (unsigned i = 0; i < cnt; i++)
		hash = hash_step(hash, chain[i]);
	return &s->places[(hash >> 32) % IMPORT_STACKS_PLACES];
}

__u32 import_stacks_find(const struct import_stacks *s, __u32 thread, const __u64 *chain,
			 unsigned cnt)
{
	const struct import_stack *p;

	if (!s->places || cnt > IMPORT_STACKS_DEPTH)
		return 0;
	p = place_of(s, thread, chain, cnt);
	if (p->epoch != s->epoch || p->thread != thread || p->cnt != cnt ||
	    memcmp(p->chain, chain, cnt * sizeof(*chain)))
		return 0;
	return p->node;
}

void import_stacks_put(struct import_stacks *s, __u32 thread, const __u64 *chain, unsigned cnt,
		       __u32 node)
{
	struct import_stack *p;
	__u64 *grown;

	if (!cnt || cnt > IMPORT_STACKS_DEPTH)
		return;
	if (!s->places)
		s->places = calloc(IMPORT_STACKS_PLACES, sizeof(*s->places));
	if (!s->places)
		return;
	p = place_of(s, thread, chain, cnt);
	p->cnt = 0;
	if (cnt > p->cap) {
		grown = reallocarray(p->chain, cnt, sizeof(*grown));
		if (!grown)
			return;
		p->chain = grown;
		p->cap = cnt;
	}
	memcpy(p->chain, chain, cnt * sizeof(*chain));
	p->cnt = cnt;
	p->thread = thread;
	p->node = node;
	p->epoch = s->epoch;
}

/* ---- processes and threads --------------------------------------------------------------------- */

void import_tasks_free(struct import_tasks *ts)
{
	struct import_process *p, *next_process;
	struct import_thread *t, *next_thread;

	HASH_ITER(hh, ts->processes, p, next_process) {
		HASH_DEL(ts->processes, p);
		mappings_free(&p->mappings, &ts->mappings);
		free(p);
	}
	HASH_ITER(hh, ts->threads, t, next_thread) {
		HASH_DEL(ts->threads, t);
		free(t->named.list);
		free(t);
	}
	stacks_free(&ts->stacks);
	free(ts->names);
}

struct import_process *import_tasks_process(struct import_tasks *ts, int pid)
{
	struct import_process *p;

	HASH_FIND_INT(ts->processes, &pid, p);
	if (p || HASH_COUNT(ts->processes) >= MAX_TASKS)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	snprintf(p->name, sizeof(p->name), ":%d", pid);
	HASH_ADD_INT(ts->processes, pid, p);
	return p;
}

/* Without memory for it, the name so far has to do. */
static void keep_name(struct import_tasks *ts, const struct import_thread *t)
{
	if (!ts->keeps_names || vec_reserve(ts->names, ts->name_cap, t->number + 1))
		return;
	for (; ts->name_cnt <= t->number; ts->name_cnt++)
		ts->names[ts->name_cnt].text[0] = '\0';
	memcpy(ts->names[t->number].text, t->comm, sizeof(ts->names[0].text));
}

void import_tasks_take_names(struct import_tasks *ts, struct import_tasks *earlier)
{
	ts->names = earlier->names;
	ts->name_cnt = earlier->name_cnt;
	earlier->names = NULL;
}

const char *import_thread_name(const struct import_tasks *ts, const struct import_thread *t)
{
	return ts->names && t->number < ts->name_cnt && *ts->names[t->number].text ?
		       ts->names[t->number].text :
		       t->comm;
}

/* From now on it is another thread, whose name says nothing about the samples so far. */
static void begin_thread(struct import_tasks *ts, struct import_thread *t)
{
	t->number = ++ts->thread_cnt;
	t->ended = false;
	t->node = 0;
}

struct import_thread *import_tasks_thread(struct import_tasks *ts, int pid, int tid)
{
	struct import_thread *t;
	struct import_process *p;

	HASH_FIND_INT(ts->threads, &tid, t);
	p = import_tasks_process(ts, pid);
	if (t && t->pid == pid) {
		if (p && t->epoch != p->epoch)
			t->node = 0;
		t->epoch = p ? p->epoch : 0;
		return t;
	}
	if (!t) {
		if (HASH_COUNT(ts->threads) >= MAX_TASKS)
			return NULL;
		t = calloc(1, sizeof(*t));
		if (!t)
			return NULL;
		t->tid = tid;
		HASH_ADD_INT(ts->threads, tid, t);
	}
	t->pid = pid;
	t->out_ns = 0;
	t->epoch = p ? p->epoch : 0;
	begin_thread(ts, t);
	snprintf(t->comm, sizeof(t->comm), "%s", p ? p->name : "");
	return t;
}

/*
 * All threads of the process hang on another node from now on, or have other mappings. Each notices
 * when it is next used, because a hostile file may announce this for a million threads.
 */
static void forget_process(struct import_tasks *ts, struct import_process *p)
{
	stacks_clear(&ts->stacks);
	p->epoch++;
}

int import_tasks_comm(struct import_tasks *ts, struct dict *dict, const struct perf_read *r)
{
	struct import_process *p = import_tasks_process(ts, r->pid);
	struct import_thread *t = import_tasks_thread(ts, r->pid, r->tid);

	if (!p || !t)
		return -ENOMEM;
	printable_into(t->comm, sizeof(t->comm), r->text);
	if (r->exec)
		begin_thread(ts, t);
	keep_name(ts, t);
	if (!r->exec && t->node)
		(void)!dict__name_frame(dict, dict__node_at(dict, t->node)->frame, t->comm, false);
	if (r->pid == r->tid && (!p->named || r->exec)) {
		memcpy(p->name, t->comm, sizeof(p->name));
		p->named = true;
		forget_process(ts, p);
	}
	return 0;
}

int import_tasks_fork(struct import_tasks *ts, const struct perf_read *r)
{
	struct import_process *p, *parent;
	struct import_thread *t, *parent_thread;

	if (r->pid != r->parent_pid) {
		p = import_tasks_process(ts, r->pid);
		parent = import_tasks_process(ts, r->parent_pid);
		if (!p || !parent)
			return -ENOMEM;
		if (p != parent)
			mappings_share(&p->mappings, &parent->mappings, &ts->mappings);
		memcpy(p->name, parent->name, sizeof(p->name));
		p->named = parent->named;
		forget_process(ts, p);
	}
	t = import_tasks_thread(ts, r->pid, r->tid);
	parent_thread = import_tasks_thread(ts, r->parent_pid, r->parent_tid);
	if (!t || !parent_thread)
		return -ENOMEM;
	memcpy(t->comm, parent_thread->comm, sizeof(t->comm));
	/* krait announces a thread again in each of several captures that were merged. */
	if (r->pid != r->parent_pid || t->ended)
		begin_thread(ts, t);
	keep_name(ts, t);
	return 0;
}

void import_tasks_exit(struct import_tasks *ts, const struct perf_read *r)
{
	struct import_thread *t;

	HASH_FIND_INT(ts->threads, &r->tid, t);
	if (t && t->pid == r->pid)
		t->ended = true;
}

/* Only for threads that have a sample: a whole machine has many others. */
void import_tasks_switch(struct import_tasks *ts, const struct perf_read *r)
{
	struct import_thread *t;

	HASH_FIND_INT(ts->threads, &r->tid, t);
	if (t && t->pid == r->pid)
		t->out_ns = r->out ? r->time_ns : 0;
}

__u64 import_thread_waited(struct import_thread *t, __u64 end_ns)
{
	__u64 from_ns = t->out_ns && t->out_ns <= end_ns ? t->out_ns : 0;

	if (from_ns)
		t->out_ns = end_ns;
	return from_ns;
}

int import_tasks_mapping(struct import_tasks *ts, struct objects *objects,
			 const struct perf_read *r)
{
	struct import_process *p = import_tasks_process(ts, r->pid);
	struct mapping new = { r->start, r->start + r->size, r->offset, { .object = 0 } };
	__u32 object;
	int err;

	if (!p)
		return -ENOMEM;
	err = objects__find(objects, r, &object);
	if (!err) {
		new.object = object;
		err = mappings_add(&p->mappings, &new, &ts->mappings);
	}
	if (err == -E2BIG)
		ts->mappings.refused++;
	forget_process(ts, p);
	return err == -ENOMEM ? err : 0;
}

/* ---- what was filtered out -------------------------------------------------------------------- */

void import_tasks_say_unwanted(char *buf, size_t size, const struct import_tasks *ts,
			       bool processes)
{
	struct mentions u = { .cnt = 0 };

	if (processes) {
		for (const struct import_process *p = ts->processes; p; p = p->hh.next)
			mentions_add(&u, p->pid, p->name, p->unwanted);
	} else {
		for (const struct import_thread *t = ts->threads; t; t = t->hh.next)
			mentions_add(&u, t->tid, import_thread_name(ts, t), t->unwanted);
	}
	mentions_say(&u, buf, size);
}
