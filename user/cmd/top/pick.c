/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top/pick.h"

#include <stdlib.h>

#include "cmd/top/row_path.h"

struct picking {
	const struct model *m;
	struct row_path path;
	struct profile *into;
	int err;
};

/* Tells whether a frame satisfies the place or the filter; any frame of a stack may. */
static bool has_frame(const struct picking *p, const struct profile_frame *f)
{
	const struct rows_spec *spec = &model_place_const(p->m)->spec;
	struct row_key key = row_key_of_code(f, false);

	if (spec->view == ROWS_CALLERS)
		return row_key_is_same_function(&key, &spec->focus);
	if (spec->view == ROWS_SOURCE)
		return f->file == spec->focus.file;
	if (f->kind == FRAME_PROCESS || f->kind == FRAME_THREAD)
		key = row_key_of_task(f);
	return order_matches(&key, p->m->session->dict, model_place_const(p->m)->filter);
}

static bool is_wanted(struct picking *p, __u32 node)
{
	const struct model *m = p->m;
	const struct rows_spec *spec = &model_place_const(m)->spec;
	struct dict *d = m->session->dict;
	bool any = spec->view != ROWS_CALLERS && spec->view != ROWS_SOURCE &&
		   !*model_place_const(m)->filter;

	p->err = p->err ? p->err : row_path_of(&p->path, d, node);
	if (p->err || !row_path_is_of(&p->path, spec, groups_of, m->groups))
		return false;
	for (__u32 i = 0; i < p->path.cnt && !any; i++)
		any = has_frame(p, dict__frame_at(d, dict__node_at(d, p->path.nodes[i])->frame));
	return any;
}

static void pick_count(void *ctx, __u32 node, __u32 event, enum state state, __u64 samples,
		       __u64 weight)
{
	struct picking *p = ctx;

	if (is_wanted(p, node))
		counts__add_labelled(profile__counts(p->into, event), node,
				     dict__string(p->into->dict, state_name(state)), samples,
				     weight);
}

struct profile *pick_profile(const struct model *m)
{
	struct picking p = { .m = m, .into = profile__new_beside(m->session) };
	const struct profile *all = samples__all(m->samples);

	if (!p.into)
		return NULL;
	for (unsigned i = 0; i < all->event_cnt && !p.err; i++)
		p.err = profile__set_event(p.into, i, &profile__counts(all, i)->event);
	if (!p.err)
		p.err = samples__each(m->samples, pick_count, &p);
	free(p.path.nodes);
	if (!p.err)
		return p.into;
	profile__free(p.into);
	return NULL;
}

/* The names of a sample's process and thread are in its stack. */
static bool give(struct picking *p, const struct stored_sample *s, pick_fn fn, void *ctx)
{
	struct dict *d = p->m->session->dict;
	const struct profile_sample sample = {
		.time_ns = s->time_ns,
		.period = s->weight,
		.node = s->node,
		.state = s->state,
		.cpu = s->cpu,
		.pid = s->pid,
		.tid = s->tid,
		.comm = p->path.thread ? dict__text(d, dict__frame_at(d, p->path.thread)->name) :
					 "",
		.event = s->event,
		.thread = s->thread,
		.image = s->image,
	};

	return fn(ctx, &sample);
}

int pick_samples(const struct model *m, pick_fn fn, void *ctx)
{
	struct picking p = { .m = m };
	bool on = true;
	unsigned age = 0;

	while (samples__round(m->samples, age))
		age++;
	while (age-- && on && !p.err) {
		const struct round *r = samples__round(m->samples, age);

		for (__u32 i = 0; i < r->samples.cnt && on && !p.err; i++) {
			if (is_wanted(&p, r->samples.list[i].node))
				on = give(&p, &r->samples.list[i], fn, ctx);
		}
	}
	free(p.path.nodes);
	return p.err;
}
