/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/dump/look_tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "look/dump/look.h"
#include "look/dump/look_thread.h"
#include "process/probe/probed.h"
#include "record/samples/still.h"

/* A task of the list, with its address. */
struct by_addr {
	__u64 addr;
	__u32 index;
};

static int compare(const void *a, const void *b)
{
	const struct by_addr *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static struct by_addr *sort_tasks(const struct look_tasks *t)
{
	struct by_addr *list = calloc(t->task_cnt + 1, sizeof(*list));

	for (__u32 i = 0; list && i < t->task_cnt; i++)
		list[i] = (struct by_addr){ t->tasks[i].addr, i };
	if (list && t->task_cnt)
		qsort(list, t->task_cnt, sizeof(*list), compare);
	return list;
}

static const struct by_addr *find(const struct by_addr *list, __u32 cnt, __u64 addr)
{
	const struct by_addr key = { addr, 0 };

	return cnt ? bsearch(&key, list, cnt, sizeof(*list), compare) : NULL;
}

/* ---- names ------------------------------------------------------------------------------------ */

/* The frames of a task. */
static void take_frames(struct look_tasks *t, struct look_process *p, const struct frame *frames,
			__u32 cnt, struct look_task *ret)
{
	ret->first_frame = t->frame_cnt;
	for (__u32 i = 0; i < cnt; i++) {
		__u32 frame = still__frame(p->named, &frames[i]);

		if (frame)
			t->frames[t->frame_cnt++] =
				look_frame_of(&p->strings, still__dict(p->named), frame);
	}
	ret->frame_cnt = t->frame_cnt - ret->first_frame;
}

static void take_tasks(struct look_tasks *t, struct look_process *p, const struct probe_tasks *l)
{
	for (__u32 i = 0; i < l->head.task_cnt; i++) {
		const struct probe_task *from = &l->tasks[i];

		t->tasks[i] = (struct look_task){
			.name = from->flags & PROBE_TASK_NAMED ?
					look_text(&p->strings, l->texts + from->name) :
					NULL,
			.addr = from->addr,
			.thread_id = from->thread_id,
			.runs = from->flags & PROBE_TASK_RUNS,
			.is_new = from->flags & PROBE_TASK_NEW,
			.notes = from->notes,
			.since_ns = l->head.time_ns,
		};
		take_frames(t, p, l->frames + from->first_frame, from->frame_cnt, &t->tasks[i]);
	}
	t->task_cnt = l->head.task_cnt;
}

/* ---- who awaits whom -------------------------------------------------------------------------- */

/* Inverts "is awaited by": first counts how many each awaits, then fills in which. */
static void link_tasks(struct look_tasks *t, const struct probe_tasks *l,
		       const struct by_addr *sorted)
{
	const struct by_addr *w;
	__u32 at = 0;

	for (int fill = 0; fill < 2; fill++) {
		for (__u32 i = 0; i < t->task_cnt; i++) {
			const struct probe_task *from = &l->tasks[i];

			for (__u32 j = 0; j < from->waiter_cnt; j++) {
				w = find(sorted, t->task_cnt, l->waiters[from->first_waiter + j]);
				if (w && fill)
					t->awaited[t->tasks[w->index].first_awaited +
						   t->tasks[w->index].awaited_cnt] = i;
				if (w)
					t->tasks[w->index].awaited_cnt++;
				if (!fill && w)
					t->tasks[i].waiter_cnt++;
				else if (!fill)
					t->tasks[i].unknown_waiters++;
			}
		}
		for (__u32 i = 0; !fill && i < t->task_cnt; i++) {
			t->tasks[i].first_awaited = at;
			at += t->tasks[i].awaited_cnt;
			t->tasks[i].awaited_cnt = 0;
		}
	}
	t->awaited_cnt = at;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_place(const struct look_tasks *t, const struct look_task *a,
		       const struct look_tasks *old, const struct look_task *b)
{
	if (a->frame_cnt != b->frame_cnt || !same_text(a->name, b->name) || a->runs || b->runs ||
	    (a->notes | b->notes) & TASK_LIVE)
		return false;
	for (__u32 i = 0; i < a->frame_cnt; i++) {
		const struct look_frame *f = &t->frames[a->first_frame + i],
					*g = &old->frames[b->first_frame + i];

		if (f->line != g->line || !same_text(f->name, g->name) ||
		    !same_text(f->file, g->file))
			return false;
	}
	return true;
}

static void take_over_times(struct look_tasks *t, const struct look_tasks *before)
{
	struct by_addr *sorted = before && !before->result ? sort_tasks(before) : NULL;
	const struct by_addr *w;

	for (__u32 i = 0; sorted && i < t->task_cnt; i++) {
		w = find(sorted, before->task_cnt, t->tasks[i].addr);
		if (w && same_place(t, &t->tasks[i], before, &before->tasks[w->index]))
			t->tasks[i].since_ns = before->tasks[w->index].since_ns;
	}
	free(sorted);
}

/* ---- the process ------------------------------------------------------------------------------ */

static int read_list(struct look_process *p, enum look_tasks_kind kind, struct probe_tasks *ret)
{
	const struct py_process *process = &p->process;
	struct probe_tasks_ask ask = {
		.offsets = process->offsets,
		.runtime_addr = process->runtime_addr,
		.names = true,
	};
	struct published published;
	int err;

	if (kind == LOOK_GREENLETS)
		return probed__greenlets(p->probed, &ask, ret);
	if (!published_kind_by(PUBLISHED_ASYNCIO, process->version))
		return -ENOTSUP;
	err = probed__published(p->probed, process->version, process->runtime_addr, &published);
	if (err)
		return err;
	if (!published.tables[PUBLISHED_ASYNCIO].addr)
		return -ENOENT;
	ask.asyncio = published.tables[PUBLISHED_ASYNCIO].asyncio;
	return probed__tasks(p->probed, &ask, ret);
}

static int fill(struct look_tasks *t, struct look_process *p, const struct probe_tasks *l,
		const struct look_tasks *before)
{
	struct by_addr *sorted = NULL;

	t->tasks = calloc(l->head.task_cnt + 1, sizeof(*t->tasks));
	t->frames = calloc(l->head.frame_cnt + 1, sizeof(*t->frames));
	t->awaited = calloc(l->head.waiter_cnt + 1, sizeof(*t->awaited));
	if (t->tasks && t->frames && t->awaited &&
	    !still__begin(p->named, probed__memory(p->probed))) {
		take_tasks(t, p, l);
		sorted = sort_tasks(t);
	}
	if (!sorted)
		return -ENOMEM;
	link_tasks(t, l, sorted);
	free(sorted);
	take_over_times(t, before);
	t->changed = l->head.flags & PROBE_TASKS_CHANGED || l->head.list_reason != REASON_PYTHON;
	t->cut = l->head.flags & PROBE_TASKS_CUT;
	t->time_ns = l->head.time_ns;
	return 0;
}

struct look_tasks *look_tasks__take(struct look_process *p, enum look_tasks_kind kind,
				    const struct look_tasks *before)
{
	struct look_tasks *t = calloc(1, sizeof(*t));
	struct probe_tasks l = { .memory = NULL };

	if (!t)
		return NULL;
	t->kind = kind;
	t->result = read_list(p, kind, &l);
	if (!t->result)
		t->result = fill(t, p, &l, before);
	probe_tasks_free(&l);
	return t;
}

void look_tasks__free(struct look_tasks *t)
{
	if (!t)
		return;
	free(t->tasks);
	free(t->frames);
	free(t->awaited);
	free(t);
}
