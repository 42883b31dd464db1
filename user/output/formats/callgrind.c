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
#include "output/formats/call_graph.h"
#include "output/label.h"
#include "profile/marks.h"
#include "profile/view.h"
#include "base/data/cleanup.h"
#include "base/data/compare.h"
#include "base/text/stream.h"

struct callgrind {
	struct call_graph graph; /* callers are lines */
	char *function_named, *file_named; /* by function, by string: already named in the output */
};

static int place_of(void *ctx, const struct view *v, const struct profile_frame *f,
		    struct profile_frame *ret)
{
	*ret = (struct profile_frame){ f->kind, f->name, f->file, f->first_line, -1 };
	return 0;
}

static int compare_frames(const void *a, const void *b, void *ctx)
{
	const struct call_graph *g = ctx;
	__u32 x = *(const __u32 *)a, y = *(const __u32 *)b;

	return compare_numbers(g->function_of[x], g->function_of[y]) ?:
		       compare_numbers(g->view->frames[x].line, g->view->frames[y].line);
}

/* ---- text ------------------------------------------------------------------------------------- */

/* Writes "fl=(1) NAME" the first time, "fl=(1)" later. */
static int put_file(struct callgrind *c, FILE *out, const char *key, __u32 function)
{
	__u32 file = c->graph.functions.list[function].file;
	const char *text = dict__text(c->graph.view->dict, file);

	fprintf(out, "%s=(%u)", key, file + 1);
	if (!c->file_named[file]) {
		c->file_named[file] = 1;
		putc(' ', out);
		if (put_printable(out, *text ? text : "???"))
			return -ENOMEM;
	}
	putc('\n', out);
	return 0;
}

static int put_function(struct callgrind *c, FILE *out, const char *key, __u32 function)
{
	const struct profile_frame *place = &c->graph.functions.list[function];
	const char *text = dict__text(c->graph.view->dict, place->name);

	fprintf(out, "%s=(%u)", key, function + 1);
	if (!c->function_named[function]) {
		c->function_named[function] = 1;
		putc(' ', out);
		if (function == c->graph.function_of[0])
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

static int put_call(struct callgrind *c, FILE *out, const struct call *call)
{
	const struct profile_frame *to = &c->graph.functions.list[call->to];
	int err = put_file(c, out, "cfi", call->to);

	if (!err)
		err = put_function(c, out, "cfn", call->to);
	fprintf(out, "calls=1 %d\n%d %llu\n", to->first_line > 0 ? to->first_line : 0,
		line_of(&c->graph.view->frames[call->from]), call->total);
	return err;
}

/*
 * Calls from the same line of a caller are adjacent in c->graph.calls; first[] has the index of each
 * run's first.
 */
static int put_body(struct callgrind *c, FILE *out, const __u32 *order, const __u32 *first)
{
	const struct view *v = c->graph.view;
	__u32 current = PLACE_NONE;
	int err = 0;

	for (__u32 i = 0; i < v->frame_cnt && !err; i++) {
		__u32 frame = order[i], function = c->graph.function_of[frame], at;
		const __u64 self = v->sums[frame].self;

		if (!self && !first[frame])
			continue;
		if (function != current) {
			putc('\n', out);
			err = put_file(c, out, "fl", function);
			if (!err)
				err = put_function(c, out, "fn", function);
			current = function;
		}
		if (self)
			fprintf(out, "%d %llu\n", line_of(&v->frames[frame]), self);
		for (at = first[frame];
		     !err && at && at <= c->graph.call_cnt && c->graph.calls[at].from == frame;
		     at++)
			err = put_call(c, out, &c->graph.calls[at]);
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

static int write_graph(struct callgrind *c, struct emitter *e)
{
	const struct view *v = c->graph.view;
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
	c->file_named = calloc((size_t)max_file + 1, 1);
	if (!c->file_named)
		return -ENOMEM;
	qsort_r(order, v->frame_cnt, sizeof(*order), compare_frames, &c->graph);
	call_graph_sort(&c->graph, true);
	for (__u32 i = c->graph.call_cnt; i > 0; i--)
		first[c->graph.calls[i].from] = i;
	err = put_header(e->out, e->options, v);
	if (!err)
		err = put_body(c, e->out, order, first);
	fprintf(e->out, "\ntotals: %llu\n", v->nodes[0].total);
	return err;
}

static int callgrind_finish(struct emitter *e, const struct profile *p, unsigned event)
{
	const struct call_graph_options options = {
		.view = { .lines = true, .sources = true, .order = VIEW_BY_NAME },
		.place = place_of,
		.lines = true
	};
	struct callgrind c = { 0 };
	int err = call_graph_init(&c.graph, profile__counts(p, event), &options);

	if (!err)
		c.function_named = calloc(c.graph.functions.cnt + 1, 1);
	if (!err && !c.function_named)
		err = -ENOMEM;
	if (!err)
		err = write_graph(&c, e);
	if (!err)
		err = stream_finish(e->out);
	call_graph_free(&c.graph);
	free(c.function_named);
	free(c.file_named);
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
