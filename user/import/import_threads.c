/* SPDX-License-Identifier: BSD-2-Clause */
#include "import/import_threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/printable.h"

/* Limit for hostile files; a machine has at most 4 million at once. */
#define MAX_TASKS (1U << 20)

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
		free(t->chain);
		free(t->nodes);
		free(t);
	}
	import_stacks_free(&ts->stacks);
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

static void forget_stack(struct import_thread *t)
{
	t->node = 0;
	t->cnt = 0;
}

struct import_thread *import_tasks_thread(struct import_tasks *ts, int pid, int tid)
{
	struct import_thread *t;
	struct import_process *p;

	HASH_FIND_INT(ts->threads, &tid, t);
	p = import_tasks_process(ts, pid);
	if (t && t->pid == pid) {
		if (p && t->epoch != p->epoch)
			forget_stack(t);
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
	forget_stack(t);
	snprintf(t->comm, sizeof(t->comm), "%s", p ? p->name : "");
	return t;
}

/*
 * All threads of the process hang on another node from now on, or have other mappings. Each notices
 * when it is next used, because a hostile file may announce this for a million threads.
 */
static void forget_process(struct import_tasks *ts, struct import_process *p)
{
	import_stacks_clear(&ts->stacks);
	p->epoch++;
}

int import_tasks_comm(struct import_tasks *ts, const struct perf_read *r)
{
	struct import_process *p = import_tasks_process(ts, r->pid);
	struct import_thread *t = import_tasks_thread(ts, r->pid, r->tid);

	if (!p || !t)
		return -ENOMEM;
	printable_into(t->comm, sizeof(t->comm), r->text);
	forget_stack(t);
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
	forget_stack(t);
	return 0;
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

int import_thread_reserve(struct import_thread *t, unsigned cnt)
{
	__u64 *chain;
	__u32 *nodes;

	if (cnt <= t->cap)
		return 0;
	chain = reallocarray(t->chain, cnt + 32, sizeof(*chain));
	if (chain)
		t->chain = chain;
	nodes = reallocarray(t->nodes, cnt + 32, sizeof(*nodes));
	if (nodes)
		t->nodes = nodes;
	if (!chain || !nodes)
		return -ENOMEM;
	t->cap = cnt + 32;
	return 0;
}

/* ---- what was filtered out -------------------------------------------------------------------- */

#define UNWANTED_NAMED 3

struct unwanted {
	struct {
		int id;
		const char *name;
		__u64 samples;
	} most[UNWANTED_NAMED + 1]; /* most samples first; the last entry no longer counts */
	unsigned cnt;
};

static void add_unwanted(struct unwanted *u, int id, const char *name, __u64 samples)
{
	unsigned at = u->cnt < UNWANTED_NAMED ? u->cnt : UNWANTED_NAMED;

	if (!samples)
		return;
	u->cnt++;
	for (; at && u->most[at - 1].samples < samples; at--)
		u->most[at] = u->most[at - 1];
	u->most[at].id = id;
	u->most[at].name = name;
	u->most[at].samples = samples;
}

void import_tasks_say_unwanted(char *buf, size_t size, const struct import_tasks *ts,
			       bool processes)
{
	unsigned named;
	struct unwanted u = { .cnt = 0 };
	size_t len = 0;

	if (processes) {
		for (const struct import_process *p = ts->processes; p; p = p->hh.next)
			add_unwanted(&u, p->pid, p->name, p->unwanted);
	} else {
		for (const struct import_thread *t = ts->threads; t; t = t->hh.next)
			add_unwanted(&u, t->tid, t->comm, t->unwanted);
	}
	*buf = '\0';
	named = u.cnt < UNWANTED_NAMED ? u.cnt : UNWANTED_NAMED;
	for (unsigned i = 0; i < named && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%d %.40s", i ? ", " : "",
					u.most[i].id, u.most[i].name);
	if (u.cnt > named && len < size)
		snprintf(buf + len, size - len, " and %u more", u.cnt - named);
}
