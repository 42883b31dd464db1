/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top/trim.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/frames.h"
#include "base/data/cleanup.h"

struct trimming {
	struct dict *dict;
	__u32 cnt; /* nodes before trimming */
	__u32 *nodes; /* by node: where it moves; 0: it stays */
	bool *recent; /* by node: it or a descendant has samples in the last rounds */
	trim_alive_fn alive;
	void *ctx;
};

static void mark_recent(struct trimming *t, const struct samples *s)
{
	const struct round *r = samples__open(s);

	for (unsigned age = 0; r; r = samples__round(s, age++)) {
		for (__u32 i = 0; i < r->samples.cnt; i++)
			t->recent[r->samples.list[i].node] = true;
	}
	/* Parents have smaller numbers. */
	for (__u32 i = t->cnt; i; i--) {
		if (t->recent[i])
			t->recent[dict__node_at(t->dict, i)->parent] = true;
	}
}

static bool has_ended(const struct trimming *t, __u32 node, const struct profile_frame *f)
{
	if (t->recent[node] || f->pid <= 0)
		return false;
	if (f->kind == FRAME_PROCESS)
		return !t->alive(t->ctx, f->pid, 0);
	return f->kind == FRAME_THREAD && f->tid > 0 && !t->alive(t->ctx, f->pid, f->tid);
}

/* A node that moves with its parent keeps its frame. */
static __u32 place_of(struct trimming *t, __u32 node)
{
	const struct profile_node n = *dict__node_at(t->dict, node);
	const struct profile_frame f = *dict__frame_at(t->dict, n.frame);
	__u32 parent = t->nodes[n.parent];

	if (f.kind == FRAME_THREAD && (parent || has_ended(t, node, &f)))
		return dict__named_child(t->dict, parent ? parent : n.parent, FRAME_THREAD,
					 NAME_ENDED, 0, 0);
	if (f.kind == FRAME_PROCESS && has_ended(t, node, &f))
		return dict__named_child(t->dict, 0, FRAME_PROCESS, NAME_ENDED, 0, 0);
	return parent ? dict__child(t->dict, parent, n.frame) : 0;
}

static int move_counts(const struct trimming *t, struct profile *p)
{
	int err = 0;

	for (unsigned i = 0; i < p->event_cnt && !err; i++)
		err = counts__move(profile__counts(p, i), t->nodes, t->cnt);
	return err;
}

static int move_all(struct trimming *t, struct samples *s)
{
	struct profile *profiles[2];
	int err;

	samples__profiles(s, profiles);
	err = move_counts(t, profiles[0]);
	return err ? err : move_counts(t, profiles[1]);
}

int trim(struct samples *s, struct profile *session, trim_alive_fn alive, void *ctx)
{
	struct dict *dict = session->dict;
	__u32 cnt = dict__node_cnt(dict);
	cleanup_free __u32 *nodes = calloc((size_t)cnt + 1, sizeof(*nodes));
	cleanup_free bool *recent = calloc((size_t)cnt + 1, sizeof(*recent));
	struct trimming t = { dict, cnt, nodes, recent, alive, ctx };
	int err;

	if (!nodes || !recent)
		return -ENOMEM;
	mark_recent(&t, s);
	dict__begin(dict, 0);
	/* A parent comes before its children. If there is no room, a subtree stays. */
	for (__u32 i = 1; i <= cnt; i++)
		nodes[i] = place_of(&t, i);
	err = move_all(&t, s);
	if (err)
		return err;
	for (unsigned i = 0; i < session->event_cnt; i++)
		counts__clear(profile__counts(session, i));
	return dict__forget(dict);
}
