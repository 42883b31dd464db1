/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/text/callers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/label.h"
#include "profile/idindex.h"
#include "profile/stack_filter.h"
#include "base/data/cleanup.h"
#include "base/data/compare.h"
#include "base/data/vec.h"

struct callers {
	const struct view *view;
	bool *wanted; /* by frame of the view */
	struct view_node *nodes; /* in the order found; [0] is the root */
	__u32 cnt, cap;
	struct idindex index; /* nodes by parent and frame */
};

static bool choose(struct callers *c, const char *pattern, enum pattern_use use)
{
	const struct view *v = c->view;
	bool any = false;

	for (__u32 i = 1; i < v->frame_cnt; i++) {
		const struct profile_frame *f = &v->frames[i];

		c->wanted[i] =
			frame_matches(pattern, use, f->kind, label_name(v, f), view_file(v, f));
		any |= c->wanted[i];
	}
	return any;
}

/* pattern: NULL: that one frame. */
static int find_wanted(struct callers *c, const char *pattern, __u32 frame)
{
	c->wanted = calloc(c->view->frame_cnt, sizeof(*c->wanted));
	if (!c->wanted)
		return -ENOMEM;
	c->wanted[frame] = !pattern;
	return !pattern || choose(c, pattern, PATTERN_LITERAL) || choose(c, pattern, PATTERN_GLOB) ?
		       0 :
		       -ENOENT;
}

/* Node 0 is the root. Returns 0 or -ENOMEM. */
static int add_child(struct callers *c, __u32 *node, __u32 frame, __u64 total, __u64 self)
{
	__u32 hash = idindex_hash_pair(*node, frame), parent = *node;
	const struct idindex_slot *slot;

	if (idindex_reserve(&c->index) || vec_reserve(c->nodes, c->cap, c->cnt + 1))
		return -ENOMEM;
	idindex_for_each(&c->index, hash, slot) {
		*node = slot->id;
		if (c->nodes[*node].parent == parent && c->nodes[*node].frame == frame) {
			c->nodes[*node].total += total;
			c->nodes[*node].self += self;
			return 0;
		}
	}
	*node = c->cnt++;
	c->nodes[*node] = (struct view_node){ .frame = frame,
					      .parent = parent,
					      .depth = c->nodes[parent].depth + 1,
					      .total = total,
					      .self = self };
	idindex_insert(&c->index, hash, *node);
	return 0;
}

static bool is_outermost(const struct view *v, __u32 i)
{
	__u32 frame = v->nodes[i].frame;

	for (i = v->nodes[i].parent; i; i = v->nodes[i].parent) {
		if (v->nodes[i].frame == frame)
			return false;
	}
	return true;
}

/* Adds the function, then its callers up to the root. */
static int add_path(struct callers *c, __u32 i)
{
	const struct view_node *nodes = c->view->nodes;
	__u64 total = nodes[i].total;
	__u32 node = 0;
	int err = 0;

	for (; i && !err; i = nodes[i].parent)
		err = add_child(c, &node, nodes[i].frame, total, 0);
	return err;
}

/* Adds the function and everything below it. made: by level, its node here. */
static int add_callees(struct callers *c, __u32 i, __u32 *made)
{
	const struct view_node *nodes = c->view->nodes, *top = &nodes[i];
	int err = 0;

	for (; i < top->end && !err; i++) {
		const __u32 depth = nodes[i].depth - top->depth;

		made[depth] = depth ? made[depth - 1] : 0;
		err = add_child(c, &made[depth], nodes[i].frame, nodes[i].total, nodes[i].self);
	}
	return err;
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct callers *c = ctx;
	const struct view_node *x = &c->nodes[*(const __u32 *)a], *y = &c->nodes[*(const __u32 *)b];

	return compare_numbers(x->parent, y->parent) ?: view_node_compare(c->view, x, y);
}

/*
 * Sorts the node numbers so that siblings are adjacent, the largest first, and stores each parent's
 * first position.
 */
static int group_by_parent(struct callers *c, __u32 **ret_order, __u32 **ret_first)
{
	__u32 *order = calloc(c->cnt, sizeof(*order)), *first = calloc(c->cnt + 1, sizeof(*first));

	*ret_order = order;
	*ret_first = first;
	if (!order || !first)
		return -ENOMEM;
	for (__u32 i = 1; i < c->cnt; i++)
		order[i - 1] = i;
	qsort_r(order, c->cnt - 1, sizeof(*order), compare, c);
	for (__u32 i = 1; i < c->cnt; i++)
		first[c->nodes[i].parent + 1]++;
	for (__u32 i = 0; i < c->cnt; i++)
		first[i + 1] += first[i];
	return 0;
}

/* Puts nodes in depth-first order. Uses a stack as deep as the tree instead of recursion. */
static int arrange(struct callers *c, struct view_node **ret)
{
	cleanup_free __u32 *order = NULL, *first = NULL, *next = NULL, *place = NULL;
	struct view_node *out = calloc(c->cnt, sizeof(*out));
	__u32 cnt = 1, at = 0;

	*ret = out;
	next = calloc(c->cnt, sizeof(*next));
	place = calloc(c->cnt, sizeof(*place));
	if (!out || !next || !place || group_by_parent(c, &order, &first))
		return -ENOMEM;
	for (;;) {
		__u32 child;

		if (first[at] + next[at] < first[at + 1]) {
			child = order[first[at] + next[at]++];
			place[child] = cnt;
			out[cnt] = c->nodes[child];
			out[cnt].parent = place[at];
			cnt++;
			at = child;
			continue;
		}
		out[place[at]].end = cnt;
		if (!at)
			return 0;
		at = c->nodes[at].parent;
	}
}

static int make(struct view_node **ret, __u32 *ret_cnt, const struct view *v, const char *pattern,
		__u32 frame, bool callees)
{
	cleanup_free __u32 *made = calloc((size_t)v->max_depth + 1, sizeof(*made));
	struct callers c = { .view = v, .cnt = 1 };
	int err = made ? find_wanted(&c, pattern, frame) : -ENOMEM;

	*ret = NULL;
	if (!err && vec_reserve(c.nodes, c.cap, 1))
		err = -ENOMEM;
	if (!err)
		c.nodes[0] = (struct view_node){ .total = v->nodes[0].total };
	for (__u32 i = 1; i < v->node_cnt && !err; i++) {
		if (!c.wanted[v->nodes[i].frame])
			continue;
		if (callees) {
			err = add_callees(&c, i, made);
			i = v->nodes[i].end - 1;
		} else if (is_outermost(v, i)) {
			err = add_path(&c, i);
		}
	}
	if (!err)
		err = arrange(&c, ret);
	*ret_cnt = c.cnt;
	free(c.wanted);
	free(c.nodes);
	idindex_free(&c.index);
	return err;
}

int callers_of(struct view_node **ret, __u32 *ret_cnt, const struct view *v, const char *pattern,
	       bool callees)
{
	return make(ret, ret_cnt, v, pattern, 0, callees);
}

int callers_of_frame(struct view_node **ret, __u32 *ret_cnt, const struct view *v, __u32 frame,
		     bool callees)
{
	return make(ret, ret_cnt, v, NULL, frame, callees);
}
