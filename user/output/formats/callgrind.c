/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * callgrind.c - callgrind's profile format, for KCachegrind and callgrind_annotate.
 *
 * Costs are samples: per function and line, and per call from a line of one function to another
 * function, with everything seen below the call. Recursion counts once: a call inside the same call
 * adds nothing. "calls=" is 1, as sampling does not count calls.
 */
#include "output/formats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/escape.h"
#include "output/label.h"
#include "output/places.h"
#include "profile/marks.h"
#include "profile/view.h"
#include "base/data/cleanup.h"
#include "base/text/stream.h"
#include "base/data/vec.h"

/* A call from a line of one function to another function. */
struct call {
	__u32 from; /* view frame */
	__u32 to; /* function */
	__u32 covered; /* one past the last node below the outermost such call */
	__u64 samples;
};

struct graph {
	struct view *view;
	struct places functions;
	__u32 *function_of; /* by view frame */
	struct call *calls; /* [0] is unused */
	__u32 call_cnt, call_cap;
	struct idindex index;
	char *function_named, *file_named; /* by function, by string: already named in the output */
};

/* ---- the graph -------------------------------------------------------------------------------- */

static int add_functions(struct graph *g)
{
	const struct view *v = g->view;

	g->function_of = calloc(v->frame_cnt, sizeof(*g->function_of));
	if (!g->function_of)
		return -ENOMEM;
	for (__u32 i = 0; i < v->frame_cnt; i++) {
		const struct profile_frame *f = &v->frames[i];
		const struct profile_frame place = { f->kind, f->name, f->file, f->first_line, -1 };

		g->function_of[i] = places_add(&g->functions, &place);
		if (g->function_of[i] == PLACE_NONE)
			return -ENOMEM;
	}
	g->function_named = calloc(g->functions.cnt + 1, 1);
	return g->function_named ? 0 : -ENOMEM;
}

static struct call *get_call(struct graph *g, __u32 from, __u32 to)
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

static int add_calls(struct graph *g)
{
	const struct view *v = g->view;

	for (__u32 i = 1; i < v->node_cnt; i++) {
		const struct view_node *n = &v->nodes[i];
		struct call *call;

		if (!n->parent)
			continue;
		call = get_call(g, v->nodes[n->parent].frame, g->function_of[n->frame]);
		if (!call)
			return -ENOMEM;
		if (i < call->covered)
			continue;
		call->samples += n->total;
		call->covered = n->end;
	}
	return 0;
}

static int compare_frames(const void *a, const void *b, void *ctx)
{
	const struct graph *g = ctx;
	__u32 x = *(const __u32 *)a, y = *(const __u32 *)b;

	if (g->function_of[x] != g->function_of[y])
		return g->function_of[x] < g->function_of[y] ? -1 : 1;
	return (g->view->frames[x].line > g->view->frames[y].line) -
	       (g->view->frames[x].line < g->view->frames[y].line);
}

static int compare_calls(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

/* ---- text ------------------------------------------------------------------------------------- */

/* Writes "fl=(1) NAME" the first time, "fl=(1)" later. */
static int put_file(struct graph *g, FILE *out, const char *key, __u32 function)
{
	__u32 file = g->functions.list[function].file;
	const char *text = dict__text(g->view->dict, file);

	fprintf(out, "%s=(%u)", key, file + 1);
	if (!g->file_named[file]) {
		g->file_named[file] = 1;
		putc(' ', out);
		if (put_printable(out, *text ? text : "???"))
			return -ENOMEM;
	}
	putc('\n', out);
	return 0;
}

static int put_function(struct graph *g, FILE *out, const char *key, __u32 function)
{
	const struct profile_frame *place = &g->functions.list[function];
	const char *text = dict__text(g->view->dict, place->name);

	fprintf(out, "%s=(%u)", key, function + 1);
	if (!g->function_named[function]) {
		g->function_named[function] = 1;
		putc(' ', out);
		if (function == g->function_of[0])
			text = MARK_NO_STACK;
		if (put_printable(out, *text ? text : NAME_EMPTY))
			return -ENOMEM;
	}
	putc('\n', out);
	return 0;
}

static int line_of(const struct profile_frame *f)
{
	return f->line > 0 ? f->line : f->first_line > 0 ? f->first_line : 0;
}

static int put_call(struct graph *g, FILE *out, const struct call *call)
{
	const struct profile_frame *to = &g->functions.list[call->to];
	int err = put_file(g, out, "cfi", call->to);

	if (!err)
		err = put_function(g, out, "cfn", call->to);
	fprintf(out, "calls=1 %d\n%d %llu\n", to->first_line > 0 ? to->first_line : 0,
		line_of(&g->view->frames[call->from]), call->samples);
	return err;
}

/*
 * Calls from the same line of a caller are adjacent in g->calls; first[] has the index of each
 * run's first.
 */
static int put_body(struct graph *g, FILE *out, const __u32 *order, const __u32 *first)
{
	const struct view *v = g->view;
	__u32 current = PLACE_NONE;
	int err = 0;

	for (__u32 i = 0; i < v->frame_cnt && !err; i++) {
		__u32 frame = order[i], function = g->function_of[frame], c;
		const __u64 self = v->sums[frame].self;

		if (!self && !first[frame])
			continue;
		if (function != current) {
			putc('\n', out);
			err = put_file(g, out, "fl", function);
			if (!err)
				err = put_function(g, out, "fn", function);
			current = function;
		}
		if (self)
			fprintf(out, "%d %llu\n", line_of(&v->frames[frame]), self);
		for (c = first[frame]; !err && c && c <= g->call_cnt && g->calls[c].from == frame;
		     c++)
			err = put_call(g, out, &g->calls[c]);
	}
	return err;
}

/* Names the event that the costs count. */
static void put_event(FILE *out, const struct view *v)
{
	const struct event_spec *event = &v->counts->event;

	if (event_is_time(event) && v->counts->uneven)
		fprintf(out, "event: ns : nanoseconds of %s\nevents: ns\n", event->name);
	else if (event_is_clock(event))
		fputs("events: Samples\n", out);
	else
		fprintf(out, "event: Samples : %s of %s\nevents: Samples\n",
			counts__share_unit(v->counts), event->name);
}

static int put_header(FILE *out, const struct emit_options *o, const struct view *v)
{
	int err = 0;

	fputs("version: 1\ncreator: krait " KRAIT_VERSION "\n", out);
	if (o->recording.command_line && *o->recording.command_line) {
		fputs("cmd: ", out);
		err = put_printable(out, o->recording.command_line);
		putc('\n', out);
	}
	fputs("positions: line\n", out);
	put_event(out, v);
	fprintf(out, "summary: %llu\n", v->nodes[0].total);
	return err;
}

static int write_graph(struct graph *g, struct emitter *e)
{
	const struct view *v = g->view;
	cleanup_free __u32 *order = calloc(v->frame_cnt, sizeof(*order));
	cleanup_free __u32 *first = calloc(v->frame_cnt, sizeof(*first));
	__u32 max_file = 0;
	int err;

	if (!order || !first)
		return -ENOMEM;
	for (__u32 i = 0; i < v->frame_cnt; i++) {
		order[i] = i;
		max_file = v->frames[i].file > max_file ? v->frames[i].file : max_file;
	}
	g->file_named = calloc((size_t)max_file + 1, 1);
	if (!g->file_named)
		return -ENOMEM;
	qsort_r(order, v->frame_cnt, sizeof(*order), compare_frames, g);
	if (g->call_cnt)
		qsort(g->calls + 1, g->call_cnt, sizeof(*g->calls), compare_calls);
	for (__u32 i = g->call_cnt; i > 0; i--)
		first[g->calls[i].from] = i;
	err = put_header(e->out, e->options, v);
	if (!err)
		err = put_body(g, e->out, order, first);
	fprintf(e->out, "\ntotals: %llu\n", v->nodes[0].total);
	return err;
}

static int callgrind_finish(struct emitter *e, const struct profile *p, unsigned event)
{
	const struct view_options options = { .lines = true,
					      .sources = true,
					      .order = VIEW_BY_NAME };
	struct graph g = { 0 };
	int err = view__new(&g.view, profile__counts(p, event), &options);

	if (!err)
		err = add_functions(&g);
	if (!err)
		err = add_calls(&g);
	if (!err)
		err = write_graph(&g, e);
	if (!err)
		err = stream_finish(e->out);
	view__free(g.view);
	places_free(&g.functions);
	idindex_free(&g.index);
	free(g.function_of);
	free(g.calls);
	free(g.function_named);
	free(g.file_named);
	return err;
}

const struct emitter_ops callgrind_emitter = {
	.name = "callgrind",
	.suffixes = (const char *const[]){ ".callgrind", ".callgrind.out", NULL },
	.about = "for KCachegrind",
	.next = { "kcachegrind ", "" },
	.sources = true,
	.open = emitter_open,
	.finish = callgrind_finish,
	.free = emitter_free,
};
