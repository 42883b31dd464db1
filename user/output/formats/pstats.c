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
#include "output/places.h"
#include "profile/idtable.h"
#include "profile/strtab.h"

struct sums {
	__u64 self, total;
	__u32 covered; /* one past the last node below the outermost one */
};

struct call {
	__u32 to, from; /* functions */
	struct sums sums;
	__u32 next; /* of the same function; 0: no more */
};

struct graph {
	struct view *view;
	struct strtab texts; /* as they are written: what looks the same is the same */
	struct places functions; /* names and files are numbers of texts */
	__u32 *function_of; /* by view frame */
	struct sums *sums; /* by function */
	__u32 *first; /* by function, its first caller */
	struct idtable calls; /* struct call; [0] is unused */
	double unit; /* seconds of a unit */
};

/* ---- the graph -------------------------------------------------------------------------------- */

static int add_text(struct graph *g, const char *text, __u32 *ret)
{
	cleanup_free char *safe = printable(text);

	*ret = safe ? strtab_add(&g->texts, safe, strlen(safe), 0) : 0;
	return safe && (*ret || !*safe) ? 0 : -ENOMEM;
}

static int add_functions(struct graph *g)
{
	const struct view *v = g->view;

	g->function_of = calloc(v->frame_cnt, sizeof(*g->function_of));
	if (!g->function_of)
		return -ENOMEM;
	for (__u32 i = 0; i < v->frame_cnt; i++) {
		const struct profile_frame *f = &v->frames[i];
		/* As cProfile says it of what is not in a file. */
		const char *file = f->kind == FRAME_MARK || !*view_file(v, f) ? "~" :
										view_file(v, f);
		struct profile_frame place = { .kind = FRAME_PYTHON, .line = -1 };

		place.first_line = f->first_line > 0 ? f->first_line : 0;
		if (add_text(g, label_name(v, f), &place.name) || add_text(g, file, &place.file))
			return -ENOMEM;
		g->function_of[i] = places_add(&g->functions, &place);
		if (g->function_of[i] == PLACE_NONE)
			return -ENOMEM;
	}
	g->sums = calloc(g->functions.cnt, sizeof(*g->sums));
	g->first = calloc(g->functions.cnt, sizeof(*g->first));
	return g->sums && g->first ? 0 : -ENOMEM;
}

static struct call *get_call(struct graph *g, __u32 to, __u32 from)
{
	struct call new = { .to = to, .from = from, .next = g->first[to] }, *calls = g->calls.items;
	__u32 hash = idindex_hash_pair(to, from);
	const struct idindex_slot *slot;

	idindex_for_each(&g->calls.index, hash, slot)
		if (calls[slot->id].to == to && calls[slot->id].from == from)
			return &calls[slot->id];
	if (idtable_reserve(&g->calls))
		return NULL;
	g->first[to] = idtable_add(&g->calls, hash, &new, 0);
	return &((struct call *)g->calls.items)[g->first[to]];
}

static void add(struct sums *sums, const struct view_node *n, __u32 number)
{
	sums->self += n->self;
	if (number < sums->covered)
		return;
	sums->total += n->total;
	sums->covered = n->end;
}

static int add_nodes(struct graph *g)
{
	const struct view *v = g->view;

	for (__u32 i = 0; i < v->node_cnt; i++) {
		const struct view_node *n = &v->nodes[i];
		__u32 to = g->function_of[n->frame];
		struct call *call;

		/* The root is only what samples without a stack have. */
		if (!i) {
			g->sums[to].self = g->sums[to].total = n->self;
			continue;
		}
		add(&g->sums[to], n, i);
		if (!n->parent)
			continue;
		call = get_call(g, to, g->function_of[v->nodes[n->parent].frame]);
		if (!call)
			return -ENOMEM;
		add(&call->sums, n, i);
	}
	return 0;
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

static void put_key(const struct graph *g, FILE *out, __u32 function)
{
	const struct profile_frame *at = &g->functions.list[function];

	put_tuple(out, 3);
	put_string(out, strtab_text(&g->texts, at->file));
	put_int(out, (__u64)at->first_line);
	put_string(out, strtab_text(&g->texts, at->name));
}

static void put_sums(const struct graph *g, FILE *out, const struct sums *sums)
{
	put_int(out, sums->total);
	put_int(out, sums->total);
	put_float(out, (double)sums->self * g->unit);
	put_float(out, (double)sums->total * g->unit);
}

static void put_graph(const struct graph *g, FILE *out)
{
	const struct call *calls = g->calls.items;

	putc('{', out);
	for (__u32 i = 0; i < g->functions.cnt; i++) {
		if (!g->sums[i].total)
			continue;
		put_key(g, out, i);
		put_tuple(out, 5);
		put_sums(g, out, &g->sums[i]);
		putc('{', out);
		for (__u32 c = g->first[i]; c; c = calls[c].next) {
			put_key(g, out, calls[c].from);
			put_tuple(out, 4);
			put_sums(g, out, &calls[c].sums);
		}
		putc('0', out);
	}
	putc('0', out);
}

static int pstats_finish(struct emitter *e, const struct profile *p, unsigned event)
{
	const struct counts *c = profile__counts(p, event);
	const struct view_options options = { .order = VIEW_BY_NAME };
	double unit_ns = counts__unit_ns(c);
	struct graph g = { .unit = unit_ns > 0 ? unit_ns / 1e9 : 1 };
	int err = view__new(&g.view, c, &options);

	if (!err)
		err = strtab_init(&g.texts);
	if (!err)
		err = idtable_init(&g.calls, sizeof(struct call));
	if (!err)
		err = add_functions(&g);
	if (!err)
		err = add_nodes(&g);
	if (!err) {
		put_graph(&g, e->out);
		err = stream_finish(e->out);
	}
	view__free(g.view);
	places_free(&g.functions);
	idtable_free(&g.calls);
	strtab_free(&g.texts);
	free(g.function_of);
	free(g.sums);
	free(g.first);
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
