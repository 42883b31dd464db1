/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/window.h"

#include <stdlib.h>

#include "profile/states.h"
#include "base/system/event.h"

void window__begin(struct window *w, const struct profile *profile, __u64 from_ns)
{
	*w = (struct window){ .profile = profile, .from_ns = from_ns };
	sample_store_begin(&w->samples, profile->dict, WINDOW_SAMPLES_MAX);
}

/* ---- order ------------------------------------------------------------------------------------ */

#define DIFFER(a, b) ((a) < (b) ? -1 : (a) > (b))

bool window__is_clock(const struct window *w, const struct stored_sample *s)
{
	return event_is_clock(&profile__counts(w->profile, s->event)->event);
}

static int compare_processes(const struct stored_sample *a, const struct stored_sample *b)
{
	return a->pid != b->pid ? DIFFER(a->pid, b->pid) : DIFFER(a->image, b->image);
}

static int compare_profiles(const struct window *w, const struct stored_sample *a,
			    const struct stored_sample *b)
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
	const struct stored_sample *a = x, *b = y;
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
	if (w->samples.cnt)
		qsort_r(w->samples.list, w->samples.cnt, sizeof(w->samples.list[0]), compare, w);
}

bool window__same_process(const struct stored_sample *a, const struct stored_sample *b)
{
	return !compare_processes(a, b);
}

bool window__same_profile(const struct window *w, const struct stored_sample *a,
			  const struct stored_sample *b)
{
	return !compare_profiles(w, a, b);
}

void window__end(struct window *w)
{
	if (!w->profile)
		return;
	sample_store_end(&w->samples);
	*w = (struct window){ 0 };
}
