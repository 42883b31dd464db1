/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * svg.c - a picture of the flame graph, for documents and tickets: no script, no font, nothing to load. Root at the top,
 * the largest first; what is too narrow to see is left out. The page (html.c) has everything else.
 */
#include "output/formats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/text/stream.h"
#include "output/escape.h"
#include "output/label.h"
#include "profile/origin.h"
#include "profile/waits.h"

#define WIDTH 1200.0
#define ROW 18
#define CHAR 6.7 /* of the widest usual font of this size */
#define NARROW 0.3

struct picture {
	FILE *out;
	const struct view *view;
	double scale;
};

/* The page's colours: whose code it is. */
static const char *colour_of(const struct view *v, const struct profile_frame *f)
{
	char origin[ORIGIN_NAME_SIZE];

	switch (f->kind) {
	case FRAME_KERNEL:
		return "#f3b7e8";
	case FRAME_NATIVE:
		return "#49c5ad";
	case FRAME_PYTHON:
		break;
	default:
		return "#dcd8ce";
	}
	origin_name(origin, f, view_file(v, f), view_name(v, f));
	return !strcmp(origin, "application") ? "#cf8436" :
	       !strcmp(origin, "stdlib")      ? "#7184dd" :
						"#a9e6a0";
}

/* What a tooltip says: "Cart.total (cart.py)", and how much. */
static int put_title(const struct picture *p, const struct view_node *n, const char *label)
{
	const double all = (double)p->view->nodes[0].total;

	fputs("<title>", p->out);
	if (put_xml(p->out, label))
		return -ENOMEM;
	fprintf(p->out, "&#10;%.2f%%</title>", all > 0 ? 100 * (double)n->total / all : 0);
	return 0;
}

/* A printable label, as much of it as fits. */
static int put_cut(FILE *out, const char *label, unsigned most)
{
	cleanup_free char *cut = NULL;
	size_t at = 0, bytes;
	unsigned wide = 0;

	if (text_width(label) <= most)
		return put_xml(out, label);
	while (label[at] && wide + char_width(label + at, &bytes) < most) {
		wide += char_width(label + at, &bytes);
		at += bytes;
	}
	cut = strndup(label, at);
	if (!cut || put_xml(out, cut))
		return -ENOMEM;
	fputs("\xe2\x80\xa6", out);
	return 0;
}

/* By integers: a decimal point would depend on the locale. */
static void put_decimal(FILE *out, double value)
{
	long long thousandths = llround(value * 1000);

	fprintf(out, "%lld.%03lld", thousandths / 1000, thousandths % 1000);
}

static int put_box(const struct picture *p, __u32 node, double x)
{
	const struct view_node *n = &p->view->nodes[node];
	const double width = (double)n->total * p->scale;
	cleanup_free char *label = NULL;
	size_t size;
	FILE *text = open_memstream(&label, &size);
	int err = text ? 0 : -ENOMEM;

	if (text && node)
		err = put_label(text, p->view, &p->view->frames[n->frame]);
	else if (text)
		fputs("all", text);
	if (text && fclose(text))
		err = -ENOMEM;
	if (err)
		return err;
	fputs("<g>", p->out);
	err = put_title(p, n, label);
	fputs("<rect x=\"", p->out);
	put_decimal(p->out, x);
	fprintf(p->out, "\" y=\"%u\" width=\"", n->depth * ROW);
	put_decimal(p->out, width);
	fprintf(p->out, "\" height=\"%d\" fill=\"%s\"/>", ROW - 1,
		node ? colour_of(p->view, &p->view->frames[n->frame]) : "#dcd8ce");
	if (!err && width > 4 * CHAR) {
		fprintf(p->out, "<text x=\"%lld\" y=\"%u\">", llround(x) + 3, n->depth * ROW + 13);
		err = put_cut(p->out, label, (unsigned)((width - 6) / CHAR));
		fputs("</text>", p->out);
	}
	fputs("</g>\n", p->out);
	return err;
}

static __u32 levels(const struct picture *p)
{
	__u32 most = 0;

	for (__u32 i = 0; i < p->view->node_cnt; i++) {
		const struct view_node *n = &p->view->nodes[i];

		if ((double)n->total * p->scale >= NARROW && n->depth > most)
			most = n->depth;
	}
	return most + 1;
}

/* x: by level, where the next box begins. */
static int put_boxes(const struct picture *p, double *x)
{
	int err = 0;

	for (__u32 i = 0; i < p->view->node_cnt && !err;) {
		const struct view_node *n = &p->view->nodes[i];
		const double at = x[n->depth], width = (double)n->total * p->scale;

		x[n->depth] += width;
		if (width < NARROW) {
			i = n->end;
			continue;
		}
		x[n->depth + 1] = at;
		err = put_box(p, i++, at);
	}
	return err;
}

static int put_picture(FILE *out, const struct view *v)
{
	struct picture p = { .out = out, .view = v };
	cleanup_free double *x = calloc((size_t)v->max_depth + 2, sizeof(*x));
	int err;

	if (!x)
		return -ENOMEM;
	p.scale = v->nodes[0].total ? WIDTH / (double)v->nodes[0].total : 0;
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
		"font-family=\"monospace\" font-size=\"11\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fbfaf7\"/>\n",
		(int)WIDTH, levels(&p) * ROW);
	err = put_boxes(&p, x);
	fputs("</svg>\n", out);
	return err ? err : stream_finish(out);
}

static int svg_finish(struct emitter *e, const struct profile *p, unsigned event)
{
	const struct counts *all = profile__counts(p, event);
	const struct view_options options = { .processes = !e->options->no_process,
					      .threads = e->options->threads,
					      .order = VIEW_BY_COUNT };
	struct view *v = NULL;
	struct counts *waits = NULL;
	int err = 0;

	if (!e->options->wait_kernel && waits_are_in(all)) {
		waits = waits__new_without_kernel(all);
		err = waits ? 0 : -ENOMEM;
	}
	if (!err)
		err = view__new(&v, waits ? waits : all, &options);
	if (!err)
		err = put_picture(e->out, v);
	view__free(v);
	counts__free(waits);
	return err;
}

const struct emitter_ops svg_emitter = {
	.name = "svg",
	.suffixes = (const char *const[]){ ".svg", NULL },
	.about = "a picture of the flame graph",
	.next = { "open it in a browser" },
	.open = emitter_open,
	.finish = svg_finish,
	.free = emitter_free,
};
