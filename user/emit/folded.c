/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * folded.c - one line per stack: "process;[thread;]frame;frame COUNT", root first.
 *
 * Read by flamegraph.pl, inferno, speedscope, Firefox Profiler and krait report. The accounts are
 * not in it: the format has no comments, and flamegraph.pl and inferno warn of every line that does
 * not end in a count (speedscope skips it). They are in the summary and in all other outputs.
 */
#include "emit/formats.h"

#include <errno.h>
#include <stdlib.h>

#include "emit/label.h"
#include "util/cleanup.h"

struct emitter {
	FILE *out;
	const struct emit_options *options;
};

static int folded_open(struct emitter **ret, FILE *out, const struct emit_options *options)
{
	struct emitter *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->out = out;
	e->options = options;
	*ret = e;
	return 0;
}

static int folded_sample(struct emitter *e, const struct profile *p, const struct profile_sample *s)
{
	(void)e;
	(void)p;
	(void)s;
	return 0;
}

static void write_stacks(FILE *out, const struct view *v, char **labels, __u32 *path)
{
	__u32 i, depth;

	for (i = 0; i < v->node_cnt; i++) {
		const struct view_node *n = &v->nodes[i];

		path[n->depth] = n->frame;
		if (!n->self)
			continue;
		/* The root, path[0], is shown only for what has no stack at all. */
		for (depth = n->depth ? 1 : 0; depth <= n->depth; depth++) {
			fputs(labels[path[depth]], out);
			putc(depth < n->depth ? ';' : ' ', out);
		}
		fprintf(out, "%llu\n", (unsigned long long)n->self);
	}
}

static int folded_finish(struct emitter *e, const struct profile *p)
{
	const struct view_options options = {
		.lines = e->options->lines,
		.processes = !e->options->no_process,
		.threads = e->options->threads,
		.order = VIEW_BY_NAME,
	};
	cleanup_free __u32 *path = NULL;
	cleanup_view struct view *v = NULL;
	char **labels = NULL;
	int err;

	err = view__new(&v, p, &options);
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
	if (fflush(e->out) || ferror(e->out))
		return errno ? -errno : -EIO;
	return 0;
}

static void folded_free(struct emitter *e)
{
	free(e);
}

const struct emitter_ops folded_emitter = {
	.name = "folded",
	.suffixes = (const char *const[]){ ".folded", ".txt", ".collapsed", NULL },
	.open = folded_open,
	.sample = folded_sample,
	.finish = folded_finish,
	.free = folded_free,
};
