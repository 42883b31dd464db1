/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/timeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profile/idindex.h"
#include "base/data/compare.h"
#include "base/system/clock.h"
#include "base/data/vec.h"

struct timeline {
	struct timeline_thread *threads;
	__u32 cnt, cap;
	struct idindex index; /* ids are indexes plus 1 */
	__u64 first_ns, sample_cnt;
};

struct timeline *timeline__new(void)
{
	return calloc(1, sizeof(struct timeline));
}

void timeline__free(struct timeline *t)
{
	if (!t)
		return;
	for (__u32 i = 0; i < t->cnt; i++)
		free(t->threads[i].samples);
	free(t->threads);
	idindex_free(&t->index);
	free(t);
}

static struct timeline_thread *get_thread(struct timeline *t, int pid, int tid)
{
	__u32 hash = idindex_hash_pair((__u32)pid, (__u32)tid);
	const struct idindex_slot *slot;

	idindex_for_each(&t->index, hash, slot) {
		struct timeline_thread *old = &t->threads[slot->id - 1];

		if (old->pid == pid && old->tid == tid)
			return old;
	}
	if (vec_reserve(t->threads, t->cap, t->cnt + 1) || idindex_reserve(&t->index))
		return NULL;
	t->threads[t->cnt] = (struct timeline_thread){ .pid = pid, .tid = tid };
	idindex_insert(&t->index, hash, t->cnt + 1);
	return &t->threads[t->cnt++];
}

int timeline__add(struct timeline *t, const struct profile_sample *s)
{
	const __u64 from_ns = s->from_ns && s->from_ns < s->time_ns ? s->from_ns : s->time_ns;
	struct timeline_thread *thread = get_thread(t, s->pid, s->tid);

	if (!thread)
		return -ENOMEM;
	if (t->sample_cnt == TIMELINE_MAX_SAMPLES)
		return -E2BIG;
	if (vec_reserve(thread->samples, thread->cap, thread->cnt + 1))
		return -ENOMEM;
	if (s->comm && strcmp(thread->name, s->comm))
		snprintf(thread->name, sizeof(thread->name), "%s", s->comm);
	thread->samples[thread->cnt++] = (struct timeline_sample){
		.time_ns = s->time_ns,
		.weight = s->period,
		.from_ns = s->from_ns,
		.node = s->node,
		.event = (__u16)s->event,
		.state = (__u16)s->state,
	};
	if (!t->sample_cnt++ || from_ns < t->first_ns)
		t->first_ns = from_ns;
	return 0;
}

static int compare_threads(const void *a, const void *b)
{
	const struct timeline_thread *x = a, *y = b;

	return compare_numbers(x->pid, y->pid) ?: compare_numbers(x->tid, y->tid);
}

static int compare_samples(const void *a, const void *b)
{
	const struct timeline_sample *x = a, *y = b;

	return compare_numbers(x->time_ns, y->time_ns);
}

/* Samples arrive almost or, mostly, fully sorted by time. */
static void sort_samples(struct timeline_thread *thread)
{
	for (size_t i = 1; i < thread->cnt; i++) {
		if (thread->samples[i].time_ns < thread->samples[i - 1].time_ns) {
			qsort(thread->samples, thread->cnt, sizeof(*thread->samples),
			      compare_samples);
			return;
		}
	}
}

/* ---- fewer ------------------------------------------------------------------------------------ */

static int compare_places(const void *a, const void *b)
{
	const struct timeline_sample *x = a, *y = b;

	return compare_numbers(x->node, y->node)	   ?:
		       compare_numbers(x->event, y->event) ?:
		       compare_numbers(x->state, y->state) ?:
							     (x->from_ns != 0) - (y->from_ns != 0);
}

/* Merges samples of one stack and state. Returns how many are left. */
static size_t join_samples(struct timeline_sample *list, size_t cnt)
{
	size_t kept = 0;

	qsort(list, cnt, sizeof(*list), compare_places);
	for (size_t i = 1; i < cnt; i++) {
		struct timeline_sample *to = &list[kept];

		if (compare_places(to, &list[i])) {
			list[++kept] = list[i];
			continue;
		}
		to->weight += list[i].weight;
		to->time_ns = list[i].time_ns > to->time_ns ? list[i].time_ns : to->time_ns;
		to->from_ns = list[i].from_ns < to->from_ns ? list[i].from_ns : to->from_ns;
	}
	return cnt ? kept + 1 : 0;
}

static void thin_thread(struct timeline_thread *thread, __u64 width_ns)
{
	struct timeline_sample *list = thread->samples;
	size_t kept = 0, end;

	sort_samples(thread);
	for (size_t i = 0; i < thread->cnt; i = end) {
		size_t cnt;

		for (end = i + 1; end < thread->cnt; end++)
			if (list[end].time_ns / width_ns != list[i].time_ns / width_ns)
				break;
		cnt = join_samples(list + i, end - i);
		memmove(list + kept, list + i, cnt * sizeof(*list));
		kept += cnt;
	}
	thread->cnt = kept;
	sort_samples(thread);
}

__u64 timeline__thin(struct timeline *t, __u64 width_ns)
{
	t->sample_cnt = 0;
	for (__u32 i = 0; i < t->cnt; i++) {
		thin_thread(&t->threads[i], width_ns);
		t->sample_cnt += t->threads[i].cnt;
	}
	return t->sample_cnt;
}

static void keep_event(struct timeline_thread *thread, unsigned event)
{
	size_t kept = 0;

	for (size_t i = 0; i < thread->cnt; i++) {
		if (event == TIMELINE_ALL_EVENTS || thread->samples[i].event == event)
			thread->samples[kept++] = thread->samples[i];
	}
	thread->cnt = kept;
}

/* Drops threads without samples of the event. */
static void keep_threads(struct timeline *t, unsigned event)
{
	__u32 kept = 0;

	for (__u32 i = 0; i < t->cnt; i++) {
		keep_event(&t->threads[i], event);
		if (t->threads[i].cnt)
			t->threads[kept++] = t->threads[i];
		else
			free(t->threads[i].samples);
	}
	t->cnt = kept;
}

/* A thread may have been renamed since its last sample, which says what it is called. */
static void take_last_name(struct timeline_thread *thread, const struct dict *dict)
{
	bool any = dict && dict__renamed_cnt(dict);
	__u32 node = any && thread->cnt ? thread->samples[thread->cnt - 1].node : 0;

	for (; node; node = dict__node_at(dict, node)->parent) {
		const struct profile_frame *f =
			dict__frame_at(dict, dict__node_at(dict, node)->frame);

		if (f->kind != FRAME_THREAD)
			continue;
		snprintf(thread->name, sizeof(thread->name), "%s", dict__text(dict, f->name));
		return;
	}
}

struct timeline_thread *timeline__threads(struct timeline *t, const struct dict *dict,
					  unsigned event, size_t *ret_cnt)
{
	keep_threads(t, event);
	if (t->cnt)
		qsort(t->threads, t->cnt, sizeof(*t->threads), compare_threads);
	/* The index does not match the new order. */
	idindex_free(&t->index);
	for (__u32 i = 0; i < t->cnt; i++) {
		sort_samples(&t->threads[i]);
		take_last_name(&t->threads[i], dict);
	}
	*ret_cnt = t->cnt;
	return t->threads;
}

__u64 timeline__first_ns(const struct timeline *t)
{
	return t->first_ns;
}

const char *timeline_process_name(const struct dict *dict, __u32 node)
{
	for (; node; node = dict__node_at(dict, node)->parent) {
		const struct profile_frame *f =
			dict__frame_at(dict, dict__node_at(dict, node)->frame);

		if (f->kind == FRAME_PROCESS)
			return dict__text(dict, f->name);
	}
	return "";
}

/* ---- for emitters ----------------------------------------------------------------------------- */

struct timeline *timeline_of(struct emitter *e)
{
	return ((struct timeline_emitter *)e)->timeline;
}

int timeline_emitter_open(struct emitter **ret, FILE *out, const struct emit_options *options)
{
	struct timeline_emitter *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->base = (struct emitter){ .out = out, .options = options };
	e->timeline = timeline__new();
	if (!e->timeline) {
		free(e);
		return -ENOMEM;
	}
	*ret = &e->base;
	return 0;
}

int timeline_emitter_sample(struct emitter *e, const struct profile *p,
			    const struct profile_sample *s)
{
	return timeline__add(timeline_of(e), s);
}

void timeline_emitter_free(struct emitter *e)
{
	if (!e)
		return;
	timeline__free(timeline_of(e));
	free(e);
}
