/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * view.c - builds a view in four passes, each a loop over an array: merge frames, merge nodes,
 * sum totals from the leaves up, then put the nodes in depth-first order.
 */
#include "profile/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/idindex.h"
#include "profile/parts.h"
#include "base/data/cleanup.h"
#include "base/data/compare.h"

/* A node while the tree is being built; ids in order of creation, parents first. */
struct draft {
	__u32 parent, frame;
	__u64 self, total;
};

struct builder {
	struct view *view;
	__u32 *frame_map; /* dictionary frame -> view frame, 0 if its level is left out */
	__u32 *node_map; /* dictionary node -> draft */
	struct draft *drafts; /* [0] is the root */
	__u32 draft_cnt;
	__u32 *children; /* drafts grouped by parent, in order within each group */
	__u32 *first_child; /* by draft: index into children; [draft_cnt] is the end */
	__u32 *rank; /* view frame -> rank by name */
	struct idindex index;
};

static void builder_free(struct builder *b)
{
	free(b->frame_map);
	free(b->node_map);
	free(b->drafts);
	free(b->children);
	free(b->first_child);
	free(b->rank);
	idindex_free(&b->index);
}

const char *view_name(const struct view *v, const struct profile_frame *f)
{
	return dict__text(v->dict, f->name);
}

const char *view_file(const struct view *v, const struct profile_frame *f)
{
	return dict__text(v->dict, f->file);
}

static int compare_instructions(const struct profile_frame *a, const struct profile_frame *b)
{
	return compare_numbers(a->column, b->column)		     ?:
		       compare_numbers(a->end_column, b->end_column) ?:
		       compare_numbers(a->unit, b->unit)	     ?:
		       compare_numbers(a->opcode, b->opcode);
}

int view_frame_compare(const struct view *v, const struct profile_frame *a,
		       const struct profile_frame *b)
{
	int c = compare_numbers((int)a->kind, (int)b->kind);

	if (!c && a->name != b->name)
		c = strcmp(view_name(v, a), view_name(v, b));
	if (!c && a->file != b->file)
		c = strcmp(view_file(v, a), view_file(v, b));
	if (!c)
		c = compare_numbers(a->first_line, b->first_line);
	if (!c)
		c = compare_numbers(a->line, b->line);
	if (!c)
		c = compare_instructions(a, b);
	if (!c)
		c = compare_numbers(a->pid, b->pid);
	return c ? c : compare_numbers(a->tid, b->tid);
}

int view_node_compare(const struct view *v, const struct view_node *a, const struct view_node *b)
{
	return compare_numbers(b->total, a->total) ?:
		       view_frame_compare(v, &v->frames[a->frame], &v->frames[b->frame]);
}

static bool level_shown(const struct view_options *o, enum frame_kind kind)
{
	if (kind == FRAME_PROCESS)
		return o->processes;
	if (kind == FRAME_THREAD)
		return o->threads;
	return true;
}

struct profile_frame view_frame(const struct view_options *o, const struct profile_frame *f)
{
	bool task = f->kind == FRAME_PROCESS || f->kind == FRAME_THREAD;
	bool native = o->lines && o->sources && f->source && f->line > 0;
	bool instruction = o->lines && o->instructions && f->kind == FRAME_PYTHON;

	return (struct profile_frame){
		.kind = f->kind,
		.name = f->name,
		/*
		 * A native frame's line belongs to its source file, which is not part of the
		 * function's name.
		 */
		.file = native ? f->source : f->file,
		.first_line = f->first_line > 0 ? f->first_line : -1,
		.line = o->lines && !task && f->line > 0 && (native || !f->source) ? f->line : -1,
		.pid = o->ids && task ? f->pid : -1,
		.tid = (o->ids || o->tids) && f->kind == FRAME_THREAD ? f->tid : -1,
		.column = instruction ? f->column : -1,
		.end_column = instruction ? f->end_column : -1,
		.unit = instruction && f->opcode ? f->unit : -1,
		.opcode = instruction ? f->opcode : 0,
		.interpreter = f->interpreter,
	};
}

static __u32 merge_frame(struct builder *b, const struct profile_frame *f)
{
	struct view *v = b->view;
	const __u32 key[] = { (__u32)f->kind,	    f->name,	      f->file,
			      (__u32)f->first_line, (__u32)f->line,   (__u32)f->pid,
			      (__u32)f->tid,	    (__u32)f->column, (__u32)f->end_column,
			      (__u32)f->unit,	    f->opcode };
	__u32 hash = idindex_hash_bytes(key, sizeof(key), 0);
	const struct idindex_slot *slot;

	idindex_for_each(&b->index, hash, slot)
		if (!view_frame_compare(v, &v->frames[slot->id], f))
			return slot->id;
	v->frames[v->frame_cnt] = *f;
	idindex_insert(&b->index, hash, v->frame_cnt);
	return v->frame_cnt++;
}

static int merge_frames(struct builder *b)
{
	struct view *v = b->view;
	__u32 cnt = dict__frame_cnt(v->dict), i;

	b->frame_map = calloc((size_t)cnt + 1, sizeof(*b->frame_map));
	v->frames = calloc((size_t)cnt + 1, sizeof(*v->frames));
	v->sums = calloc((size_t)cnt + 1, sizeof(*v->sums));
	if (!b->frame_map || !v->frames || !v->sums)
		return -ENOMEM;
	v->frames[0] = (struct profile_frame){ .kind = FRAME_MARK,
					       .first_line = -1,
					       .line = -1,
					       .pid = -1,
					       .tid = -1,
					       .column = -1,
					       .end_column = -1,
					       .unit = -1 };
	v->frame_cnt = 1;
	for (i = 1; i <= cnt; i++) {
		const struct profile_frame *f = dict__frame_at(v->dict, i);
		struct profile_frame projected = view_frame(&v->options, f);

		if (!level_shown(&v->options, f->kind))
			continue;
		if (idindex_reserve(&b->index))
			return -ENOMEM;
		b->frame_map[i] = merge_frame(b, &projected);
	}
	idindex_free(&b->index);
	return 0;
}

static __u32 draft_child(struct builder *b, __u32 parent, __u32 frame)
{
	__u32 hash = idindex_hash_pair(parent, frame);
	const struct idindex_slot *slot;

	idindex_for_each(&b->index, hash, slot)
		if (b->drafts[slot->id].parent == parent && b->drafts[slot->id].frame == frame)
			return slot->id;
	b->drafts[b->draft_cnt] = (struct draft){ .parent = parent, .frame = frame };
	idindex_insert(&b->index, hash, b->draft_cnt);
	return b->draft_cnt++;
}

/*
 * Is this the function with the same name that its caller, a wrapper, calls? Then it is merged into
 * the caller.
 */
static bool is_folded(const struct builder *b, const struct profile_node *n)
{
	const struct dict *d = b->view->dict;
	const struct profile_frame *f = dict__frame_at(d, n->frame), *caller;

	if (!n->parent || f->kind != FRAME_NATIVE)
		return false;
	caller = dict__frame_at(d, dict__node_at(d, n->parent)->frame);
	return caller->wrapper && !f->wrapper && caller->name == f->name && caller->file == f->file;
}

static int merge_nodes(struct builder *b)
{
	const struct counts *c = b->view->counts;
	const struct dict *dict = c->dict;
	__u32 cnt = dict__node_cnt(dict), i;

	b->node_map = calloc((size_t)cnt + 1, sizeof(*b->node_map));
	b->drafts = calloc((size_t)cnt + 1, sizeof(*b->drafts));
	if (!b->node_map || !b->drafts)
		return -ENOMEM;
	b->draft_cnt = 1;
	b->drafts[0].self = counts__self(c, 0);
	for (i = 1; i <= cnt; i++) {
		const struct profile_node *n = dict__node_at(dict, i);
		__u32 frame = b->frame_map[n->frame];
		__u32 draft = b->node_map[n->parent];

		if (idindex_reserve(&b->index))
			return -ENOMEM;
		if (frame && !is_folded(b, n))
			draft = draft_child(b, draft, frame);
		b->node_map[i] = draft;
		b->drafts[draft].self += counts__self(c, i);
	}
	idindex_free(&b->index);

	for (i = b->draft_cnt; i-- > 0;) {
		b->drafts[i].total += b->drafts[i].self;
		if (i)
			b->drafts[b->drafts[i].parent].total += b->drafts[i].total;
	}
	return 0;
}

static int compare_frame_ids(const void *a, const void *b, void *ctx)
{
	const struct view *v = ctx;

	return view_frame_compare(v, &v->frames[*(const __u32 *)a], &v->frames[*(const __u32 *)b]);
}

/* Ranks names once, so that siblings are compared by number instead of by string. */
static int rank_frames(struct builder *b)
{
	struct view *v = b->view;
	cleanup_free __u32 *sorted = calloc(v->frame_cnt, sizeof(*sorted));
	__u32 i;

	b->rank = calloc(v->frame_cnt, sizeof(*b->rank));
	if (!sorted || !b->rank)
		return -ENOMEM;
	for (i = 0; i < v->frame_cnt; i++)
		sorted[i] = i;
	qsort_r(sorted + 1, v->frame_cnt - 1, sizeof(*sorted), compare_frame_ids, v);
	for (i = 0; i < v->frame_cnt; i++)
		b->rank[sorted[i]] = i;
	return 0;
}

static int compare_siblings(const void *a, const void *b, void *ctx)
{
	const struct builder *builder = ctx;
	const struct draft *x = &builder->drafts[*(const __u32 *)a];
	const struct draft *y = &builder->drafts[*(const __u32 *)b];
	__u32 rank_x = builder->rank[x->frame], rank_y = builder->rank[y->frame];

	if (builder->view->options.order == VIEW_BY_COUNT && x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return compare_numbers(rank_x, rank_y);
}

static int group_children(struct builder *b)
{
	__u32 i, *next;

	b->children = calloc(b->draft_cnt, sizeof(*b->children));
	b->first_child = calloc((size_t)b->draft_cnt + 2, sizeof(*b->first_child));
	if (!b->children || !b->first_child)
		return -ENOMEM;
	/*
	 * Counting sort by parent: next[i] is where the next child of i goes. Stacks without counts are left out: they
	 * are another event's, or nobody asked for them, or their counts were moved to stacks with parts.
	 */
	next = b->first_child + 1;
	for (i = 1; i < b->draft_cnt; i++)
		next[b->drafts[i].parent + 1] += b->drafts[i].total > 0;
	for (i = 1; i <= b->draft_cnt; i++)
		next[i] += next[i - 1];
	for (i = 1; i < b->draft_cnt; i++) {
		if (b->drafts[i].total)
			b->children[next[b->drafts[i].parent]++] = i;
	}
	for (i = 0; i < b->draft_cnt; i++)
		qsort_r(b->children + b->first_child[i], b->first_child[i + 1] - b->first_child[i],
			sizeof(*b->children), compare_siblings, b);
	return 0;
}

static int keep_nodes(struct builder *b, const __u32 *place)
{
	struct view *v = b->view;
	__u32 cnt = dict__node_cnt(v->dict);

	if (!v->options.nodes)
		return 0;
	v->node_of = calloc((size_t)cnt + 1, sizeof(*v->node_of));
	if (!v->node_of)
		return -ENOMEM;
	for (__u32 i = 1; i <= cnt; i++)
		v->node_of[i] = place[b->node_map[i]];
	return 0;
}

/* Depth-first, with first_child[] as the cursor of each draft on the path. */
static int order_nodes(struct builder *b)
{
	struct view *v = b->view;
	cleanup_free __u32 *ends = calloc((size_t)b->draft_cnt + 1, sizeof(*ends));
	cleanup_free __u32 *place = calloc(b->draft_cnt, sizeof(*place));
	__u32 draft = 0, child;

	v->nodes = calloc(b->draft_cnt, sizeof(*v->nodes));
	if (!v->nodes || !ends || !place)
		return -ENOMEM;
	memcpy(ends, b->first_child + 1, b->draft_cnt * sizeof(*ends));
	v->nodes[0] = (struct view_node){ .self = b->drafts[0].self, .total = b->drafts[0].total };
	v->node_cnt = 1;
	for (;;) {
		struct view_node *node = &v->nodes[place[draft]];

		if (b->first_child[draft] == ends[draft]) {
			node->end = v->node_cnt;
			if (!draft)
				return keep_nodes(b, place);
			draft = b->drafts[draft].parent;
			continue;
		}
		child = b->children[b->first_child[draft]++];
		place[child] = v->node_cnt;
		v->nodes[v->node_cnt++] = (struct view_node){
			.frame = b->drafts[child].frame,
			.parent = place[draft],
			.depth = node->depth + 1,
			.self = b->drafts[child].self,
			.total = b->drafts[child].total,
		};
		if (node->depth + 1 > v->max_depth)
			v->max_depth = node->depth + 1;
		draft = child;
	}
}

/* Leaves out frames that no node has. */
static int drop_frames(struct view *v)
{
	cleanup_free __u32 *map = calloc(v->frame_cnt, sizeof(*map));
	__u32 cnt = 1;

	if (!map)
		return -ENOMEM;
	for (__u32 i = 1; i < v->node_cnt; i++)
		map[v->nodes[i].frame] = 1;
	for (__u32 i = 1; i < v->frame_cnt; i++) {
		if (!map[i])
			continue;
		v->frames[cnt] = v->frames[i];
		map[i] = cnt++;
	}
	for (__u32 i = 1; i < v->node_cnt; i++)
		v->nodes[i].frame = map[v->nodes[i].frame];
	v->frame_cnt = cnt;
	return 0;
}

/*
 * Self and total of every frame; a node below another one of the same frame adds nothing to the
 * total.
 */
static int count_frames(struct view *v)
{
	cleanup_free __u32 *covered = calloc(v->frame_cnt, sizeof(*covered));
	__u32 i;

	if (!covered)
		return -ENOMEM;
	for (i = 0; i < v->node_cnt; i++) {
		const struct view_node *n = &v->nodes[i];
		struct view_sums *sums = &v->sums[n->frame];

		sums->self += n->self;
		/* covered: one past the last node below the outermost one of this frame. */
		if (i < covered[n->frame])
			continue;
		sums->total += n->total;
		covered[n->frame] = n->end;
	}
	return 0;
}

int view__new(struct view **ret, const struct counts *c, const struct view_options *options)
{
	struct view *v = calloc(1, sizeof(*v));
	struct builder b = { .view = v };
	int err = -ENOMEM;

	if (v) {
		v->counts = c;
		v->dict = c->dict;
		v->options = *options;
		err = merge_frames(&b);
	}
	if (!err)
		err = merge_nodes(&b);
	if (!err)
		err = rank_frames(&b);
	if (!err)
		err = group_children(&b);
	if (!err)
		err = order_nodes(&b);
	if (!err)
		err = drop_frames(v);
	if (!err)
		err = count_frames(v);
	builder_free(&b);
	if (err) {
		view__free(v);
		return err;
	}
	*ret = v;
	return 0;
}

void view__free(struct view *v)
{
	if (!v)
		return;
	free(v->nodes);
	free(v->frames);
	free(v->sums);
	free(v->node_of);
	free(v);
}
