/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pstats.c - what cProfile dumps: snakeviz, gprof2dot, tuna and Python's own pstats read it.
 *
 * A marshalled dict (Python/marshal.c), {(file, line, name): (calls, calls, self, total, callers)}, where callers are a
 * dict of the same kind without callers. Samples know no calls: these numbers are samples, of waits nanoseconds. Times are
 * seconds if samples are time, else the number of them.
 *
 * Must hold: each function has one entry, since a later one of the same key would hide it.
 */
#include "output/formats.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/text/printable.h"
#include "base/text/stream.h"
#include "output/label.h"
#include "output/formats/call_graph.h"
#include "profile/strtab.h"

struct pstats {
	struct call_graph graph;
	struct strtab texts; /* as they are written: what looks the same is the same */
	double unit; /* seconds of a unit */
};

static int add_text(struct pstats *s, const char *text, __u32 *ret)
{
	cleanup_free char *safe = printable(text);

	*ret = safe ? strtab_add(&s->texts, safe, strlen(safe), 0) : 0;
	return safe && (*ret || !*safe) ? 0 : -ENOMEM;
}

/* Its name and file are numbers of texts. */
static int place_of(void *ctx, const struct view *v, const struct profile_frame *f,
		    struct profile_frame *ret)
{
	struct pstats *s = ctx;
	/* As cProfile says it of what is not in a file. */
	const char *file = f->kind == FRAME_MARK || !*view_file(v, f) ? "~" : view_file(v, f);

	ret->kind = FRAME_PYTHON;
	ret->first_line = f->first_line > 0 ? f->first_line : 0;
	return add_text(s, label_name(v, f), &ret->name) || add_text(s, file, &ret->file) ?
		       -ENOMEM :
		       0;
}

/* ---- marshal ---------------------------------------------------------------------------------- */

static void put_le(FILE *out, __u64 value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		putc((int)(value >> 8 * i & 0xff), out);
}

static void put_int(FILE *out, __u64 value)
{
	int digits = 0;

	if (value <= INT_MAX) {
		putc('i', out);
		put_le(out, value, 4);
		return;
	}
	for (__u64 rest = value; rest; rest >>= 15)
		digits++;
	putc('l', out);
	put_le(out, (__u64)digits, 4);
	for (int i = 0; i < digits; i++)
		put_le(out, value >> 15 * i & 0x7fff, 2);
}

static void put_float(FILE *out, double value)
{
	__u64 bits;

	memcpy(&bits, &value, sizeof(bits));
	putc('g', out);
	put_le(out, bits, 8);
}

static void put_tuple(FILE *out, unsigned cnt)
{
	putc('(', out);
	put_le(out, cnt, 4);
}

static void put_string(FILE *out, const char *text)
{
	putc('u', out);
	put_le(out, strlen(text), 4);
	fputs(text, out);
}

static void put_key(const struct pstats *s, FILE *out, __u32 function)
{
	const struct profile_frame *at = &s->graph.functions.list[function];

	put_tuple(out, 3);
	put_string(out, strtab_text(&s->texts, at->file));
	put_int(out, (__u64)at->first_line);
	put_string(out, strtab_text(&s->texts, at->name));
}

static void put_sums(const struct pstats *s, FILE *out, const struct call *call)
{
	put_int(out, call->total);
	put_int(out, call->total);
	put_float(out, (double)call->self * s->unit);
	put_float(out, (double)call->total * s->unit);
}

/* Calls are by function; the last of each is from all. */
static void put_graph(const struct pstats *s, FILE *out)
{
	const struct call *calls = s->graph.calls, *end = calls + s->graph.call_cnt + 1, *own;

	putc('{', out);
	for (const struct call *call = calls + 1; s->graph.call_cnt && call < end; call = own + 1) {
		for (own = call; own->from != CALLER_ANY;)
			own++;
		if (!own->total)
			continue;
		put_key(s, out, own->to);
		put_tuple(out, 5);
		put_sums(s, out, own);
		putc('{', out);
		for (; call < own; call++) {
			put_key(s, out, call->from);
			put_tuple(out, 4);
			put_sums(s, out, call);
		}
		putc('0', out);
	}
	putc('0', out);
}

static int pstats_finish(struct emitter *e, const struct profile *p, unsigned event)
{
	const struct counts *c = profile__counts(p, event);
	double unit_ns = counts__unit_ns(c);
	struct pstats s = { .unit = unit_ns > 0 ? unit_ns / 1e9 : 1 };
	const struct call_graph_options options = {
		.view = { .order = VIEW_BY_NAME }, .place = place_of, .ctx = &s, .sums = true
	};
	int err = strtab_init(&s.texts);

	if (!err)
		err = call_graph_init(&s.graph, c, &options);
	if (!err) {
		call_graph_sort(&s.graph, false);
		put_graph(&s, e->out);
		err = stream_finish(e->out);
	}
	call_graph_free(&s.graph);
	strtab_free(&s.texts);
	return err;
}

const struct emitter_ops pstats_emitter = {
	.name = "pstats",
	.suffixes = (const char *const[]){ ".pstats", ".prof", NULL },
	.about = "as cProfile writes it",
	.next = { "snakeviz ", ", gprof2dot -f pstats, or python3 -m pstats" },
	.open = emitter_open,
	.finish = pstats_finish,
	.free = emitter_free,
};
