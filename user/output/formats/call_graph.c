/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/formats/call_graph.h"

#include <errno.h>
#include <stdlib.h>

#include "base/data/vec.h"

static int add_functions(struct call_graph *g, const struct call_graph_options *o)
{
	const struct view *v = g->view;

	g->function_of = calloc(v->frame_cnt, sizeof(*g->function_of));
	if (!g->function_of)
		return -ENOMEM;
	for (__u32 i = 0; i < v->frame_cnt; i++) {
		struct profile_frame place = { .line = -1 };

		if (o->place(o->ctx, v, &v->frames[i], &place))
			return -ENOMEM;
		g->function_of[i] = places_add(&g->functions, &place);
		if (g->function_of[i] == PLACE_NONE)
			return -ENOMEM;
	}
	return 0;
}

static struct call *get_call(struct call_graph *g, __u32 from, __u32 to)
{
	__u32 hash = idindex_hash_pair(from, to);
	const struct idindex_slot *slot;

	idindex_for_each(&g->index, hash, slot)
		if (g->calls[slot->id].from == from && g->calls[slot->id].to == to)
			return &g->calls[slot->id];
	if (vec_reserve(g->calls, g->call_cap, g->call_cnt + 2) || idindex_reserve(&g->index))
		return NULL;
	g->calls[++g->call_cnt] = (struct call){ .from = from, .to = to };
	idindex_insert(&g->index, hash, g->call_cnt);
	return &g->calls[g->call_cnt];
}

static int add_call(struct call_graph *g, __u32 from, __u32 node)
{
	const struct view_node *n = &g->view->nodes[node];
	struct call *call = get_call(g, from, g->function_of[n->frame]);

	if (!call)
		return -ENOMEM;
	call->self += n->self;
	if (node < call->covered)
		return 0;
	call->total += n->total;
	call->covered = n->end;
	return 0;
}

static int add_calls(struct call_graph *g, const struct call_graph_options *o)
{
	const struct view *v = g->view;
	int err = 0;

	for (__u32 i = 1; i < v->node_cnt && !err; i++) {
		const struct view_node *n = &v->nodes[i];
		const __u32 caller = v->nodes[n->parent].frame;

		if (o->sums)
			err = add_call(g, CALLER_ANY, i);
		if (!err && n->parent)
			err = add_call(g, o->lines ? caller : g->function_of[caller], i);
	}
	return err;
}

/* The root is only what samples without a stack have. */
static int add_root(struct call_graph *g)
{
	const __u64 self = g->view->nodes[0].self;
	struct call *call = self ? get_call(g, CALLER_ANY, g->function_of[0]) : NULL;

	if (self && !call)
		return -ENOMEM;
	if (call)
		call->self = call->total = self;
	return 0;
}

int call_graph_init(struct call_graph *g, const struct counts *counts,
		    const struct call_graph_options *o)
{
	int err;

	*g = (struct call_graph){ 0 };
	err = view__new(&g->view, counts, &o->view);
	if (!err)
		err = add_functions(g, o);
	if (!err && o->sums)
		err = add_root(g);
	return err ? err : add_calls(g, o);
}

void call_graph_free(struct call_graph *g)
{
	view__free(g->view);
	places_free(&g->functions);
	idindex_free(&g->index);
	free(g->function_of);
	free(g->calls);
}

static int compare_u32(__u32 a, __u32 b)
{
	return a < b ? -1 : a > b;
}

static int by_caller(const void *a, const void *b)
{
	const struct call *x = a, *y = b;
	int order = compare_u32(x->from, y->from);

	return order ? order : compare_u32(x->to, y->to);
}

static int by_function(const void *a, const void *b)
{
	const struct call *x = a, *y = b;
	int order = compare_u32(x->to, y->to);

	return order ? order : compare_u32(x->from, y->from);
}

void call_graph_sort(struct call_graph *g, bool caller)
{
	if (g->call_cnt)
		qsort(g->calls + 1, g->call_cnt, sizeof(*g->calls),
		      caller ? by_caller : by_function);
	idindex_free(&g->index);
}
