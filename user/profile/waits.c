/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/waits.h"

#include "profile/marks.h"
#include "profile/states.h"

bool waits_is_mark(enum frame_kind kind, const char *text)
{
	return kind == FRAME_MARK && state_of_mark(text) != STATE_UNKNOWN;
}

static const struct profile_frame *frame_of(const struct dict *dict, __u32 node)
{
	return dict__frame_at(dict, dict__node_at(dict, node)->frame);
}

static bool ends_in_wait(const struct dict *dict, __u32 node)
{
	const struct profile_frame *f = node ? frame_of(dict, node) : NULL;

	return f && waits_is_mark(f->kind, dict__text(dict, f->name));
}

bool waits_are_in(const struct counts *c)
{
	for (__u32 node = 1; node < c->cnt; node++) {
		if (counts__at(c, node).samples && ends_in_wait(c->dict, node))
			return true;
	}
	return false;
}

static __u32 above_kernel(const struct dict *dict, __u32 node)
{
	while (node && frame_of(dict, node)->kind == FRAME_KERNEL)
		node = dict__node_at(dict, node)->parent;
	return node;
}

/* node: of the frame that the mark follows. */
static __u32 function_above(const struct dict *dict, __u32 node)
{
	__u32 native = 0, mark = 0;

	for (__u32 at = node; at; at = dict__node_at(dict, at)->parent) {
		switch (frame_of(dict, at)->kind) {
		case FRAME_PYTHON:
			return at;
		case FRAME_NATIVE:
			native = native ? native : at;
			break;
		case FRAME_MARK:
			mark = at;
			break;
		default:
			break;
		}
	}
	return native ? native : mark ? mark : above_kernel(dict, node);
}

typedef void (*move_fn)(struct counts *to, __u32 node, struct node_count n);

static struct counts *new_moved(const struct counts *c, move_fn move, bool all)
{
	struct counts *own = counts__new(c->dict, &c->event);
	const __u32 cnt = c->cnt;

	if (!own)
		return NULL;
	own->from_ns = c->from_ns;
	own->to_ns = c->to_ns;
	own->accounts = c->accounts;
	for (__u32 node = 0; node < cnt; node++) {
		const struct node_count n = counts__at(c, node);

		if (!n.samples)
			continue;
		if (ends_in_wait(c->dict, node) || (all && node))
			move(own, node, n);
		else
			counts__add(own, node, n.samples, n.weight);
	}
	own->uneven = c->uneven;
	own->sample_weight = c->sample_weight;
	return own;
}

static void to_function(struct counts *to, __u32 node, struct node_count n)
{
	const bool is_wait = ends_in_wait(to->dict, node);
	const __u32 label = is_wait ? frame_of(to->dict, node)->name : 0;
	const __u32 above =
		function_above(to->dict, is_wait ? dict__node_at(to->dict, node)->parent : node);

	counts__add_labelled(to, above ? above : node, label, n.samples, n.weight);
}

struct counts *waits__new_of_functions(const struct counts *c)
{
	return new_moved(c, to_function, event_is_bytes(&c->event));
}

__u32 waits_without_kernel(struct dict *dict, __u32 node)
{
	const struct profile_node *old;
	__u32 frame, parent, above, moved = 0;

	if (!ends_in_wait(dict, node))
		return node;
	old = dict__node_at(dict, node);
	frame = old->frame;
	parent = old->parent;
	above = above_kernel(dict, parent);
	if (above != parent)
		moved = dict__child(dict, above, frame);
	return moved ? moved : node;
}

static void to_caller(struct counts *to, __u32 node, struct node_count n)
{
	counts__add(to, waits_without_kernel(to->dict, node), n.samples, n.weight);
}

struct counts *waits__new_without_kernel(const struct counts *c)
{
	return new_moved(c, to_caller, false);
}

static bool is_below_python(const struct dict *dict, __u32 node)
{
	const struct profile_frame *f = frame_of(dict, node);

	return f->kind == FRAME_NATIVE || f->kind == FRAME_KERNEL ||
	       (f->kind == FRAME_MARK && mark_is_native(dict__text(dict, f->name)));
}

static void to_python(struct counts *to, __u32 node, struct node_count n)
{
	while (node && is_below_python(to->dict, node))
		node = dict__node_at(to->dict, node)->parent;
	counts__add(to, node, n.samples, n.weight);
}

struct counts *waits__new_of_python(const struct counts *c)
{
	return new_moved(c, to_python, true);
}
