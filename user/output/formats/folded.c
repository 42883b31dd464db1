/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * folded.c - one line per stack: "process;[thread;]frame;frame COUNT", root first.
 *
 * Read by flamegraph.pl, inferno, speedscope, Firefox Profiler and krait report. The accounts are
 * missing: the format has no comments, and flamegraph.pl and inferno warn about every line that
 * does not end in a count (speedscope skips it). The summary and all other outputs have them.
 */
#include "output/formats.h"

#include <errno.h>
#include <stdlib.h>

#include "output/label.h"
#include "base/data/cleanup.h"
#include "base/text/stream.h"

static void write_stacks(FILE *out, const struct view *v, char **labels, __u32 *path)
{
	__u32 i, depth;

	for (i = 0; i < v->node_cnt; i++) {
		const struct view_node *n = &v->nodes[i];

		path[n->depth] = n->frame;
		if (!n->self)
			continue;
		/* The root, path[0], is shown only if the sample has no stack at all. */
		for (depth = n->depth ? 1 : 0; depth <= n->depth; depth++) {
			fputs(labels[path[depth]], out);
			putc(depth < n->depth ? ';' : ' ', out);
		}
		fprintf(out, "%llu\n", (unsigned long long)n->self);
	}
}

static int folded_finish(struct emitter *e, const struct profile *p, unsigned event)
{
	const struct view_options options = {
		.lines = e->options->lines,
		.sources = true,
		.processes = !e->options->no_process,
		.threads = e->options->threads,
		.tids = true,
		.order = VIEW_BY_NAME,
	};
	cleanup_free __u32 *path = NULL;
	cleanup_view struct view *v = NULL;
	char **labels = NULL;
	int err;

	err = view__new(&v, profile__counts(p, event), &options);
	if (err)
		return err;
	path = calloc((size_t)v->max_depth + 1, sizeof(*path));
	if (!path)
		return -ENOMEM;
	err = folded_labels_new(&labels, v);
	if (err)
		return err;
	write_stacks(e->out, v, labels, path);
	labels_free(labels, v->frame_cnt);
	return stream_finish(e->out);
}

const struct emitter_ops folded_emitter = {
	.name = "folded",
	.suffixes = (const char *const[]){ ".folded", ".txt", ".collapsed", NULL },
	.about = "one stack a line",
	.next = { "krait report ", ", or any flame graph tool" },
	.open = emitter_open,
	.finish = folded_finish,
	.free = emitter_free,
};
