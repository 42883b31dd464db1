/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/window.h"

#include <stdlib.h>

#include "profile/states.h"
#include "util/event.h"
#include "util/vec.h"

static struct window *window_of(struct dict_holder *h)
{
	return (struct window *)((char *)h - offsetof(struct window, holder));
}

static void mark(struct dict_holder *h, struct dict_map *live)
{
	const struct window *w = window_of(h);

	for (__u32 i = 0; i < w->cnt; i++) {
		if (w->list[i].node)
			live->nodes[w->list[i].node] = 1;
	}
}

static void move(struct dict_holder *h, const struct dict_map *ids)
{
	struct window *w = window_of(h);

	for (__u32 i = 0; i < w->cnt; i++)
		w->list[i].node = w->list[i].node ? ids->nodes[w->list[i].node] : 0;
}

void window__begin(struct window *w, const struct profile *profile, __u64 from_ns)
{
	*w = (struct window){ .profile = profile, .from_ns = from_ns };
	w->holder = (struct dict_holder){ .mark = mark, .move = move };
	dict__hold(profile->dict, &w->holder);
}

void window__add(struct window *w, const struct profile_sample *from)
{
	if (w->cnt == WINDOW_SAMPLES_MAX || vec_reserve(w->list, w->cap, w->cnt + 1)) {
		w->dropped++;
		return;
	}
	w->list[w->cnt++] = (struct window_sample){
		.time_ns = from->time_ns,
		.weight = from->period,
		.node = from->node,
		.state = state_of(from->state),
		.event = from->event,
		.image = from->image,
		.pid = from->pid,
		.tid = from->tid,
		.cpu = from->cpu,
	};
}

/* ---- order ------------------------------------------------------------------------------------ */

#define DIFFER(a, b) ((a) < (b) ? -1 : (a) > (b))

bool window__is_clock(const struct window *w, const struct window_sample *s)
{
	return event_is_clock(&profile__counts(w->profile, s->event)->event);
}

static int compare_processes(const struct window_sample *a, const struct window_sample *b)
{
	return a->pid != b->pid ? DIFFER(a->pid, b->pid) : DIFFER(a->image, b->image);
}

static int compare_profiles(const struct window *w, const struct window_sample *a,
			    const struct window_sample *b)
{
	int order = compare_processes(a, b);

	if (order || a->event != b->event)
		return order ? order : DIFFER(a->event, b->event);
	if (window__is_clock(w, a))
		return DIFFER(a->weight, b->weight);
	return DIFFER(a->state == STATE_GIL, b->state == STATE_GIL);
}

static int compare(const void *x, const void *y, void *ctx)
{
	const struct window_sample *a = x, *b = y;
	const struct window *w = ctx;
	int order = compare_profiles(w, a, b);

	if (order)
		return order;
	/* For ticks no output uses the state: samples of one stack stay together. */
	if (a->state != b->state && !window__is_clock(w, a))
		return DIFFER(a->state, b->state);
	if (a->node != b->node)
		return DIFFER(a->node, b->node);
	return DIFFER(a->time_ns, b->time_ns);
}

void window__sort(struct window *w)
{
	if (w->cnt)
		qsort_r(w->list, w->cnt, sizeof(w->list[0]), compare, w);
}

bool window__same_process(const struct window_sample *a, const struct window_sample *b)
{
	return !compare_processes(a, b);
}

bool window__same_profile(const struct window *w, const struct window_sample *a,
			  const struct window_sample *b)
{
	return !compare_profiles(w, a, b);
}

void window__end(struct window *w)
{
	if (!w->profile)
		return;
	dict__release(w->profile->dict, &w->holder);
	free(w->list);
	*w = (struct window){ 0 };
}
