/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html.h - the one page: its parts are in flamegraph.html and flamegraph_*.js, and the data go between them.
 */
#ifndef KRAIT_EMIT_HTML_H
#define KRAIT_EMIT_HTML_H

#include <stdio.h>

#include "emit/emitter.h"
#include "emit/html_measures.h"
#include "emit/html_strip.h"

/* All zero but the measures: no more than the tree of stacks. */
struct html_content {
	const struct html_measures *measures;
	/* Its samples in the order of time, and what html_strip__put() wants to know; NULL none. */
	struct html_strip *strip;
	const struct profile *profile;
	unsigned event;
	/* The page opens there: "source", at that line of that file; NULL: the stacks. */
	const char *view, *file;
	int line;
};

/* All of the page; out is the caller's. 0 or -errno. */
int html_page(FILE *out, const struct emit_options *options, const struct html_content *content)
	__attribute__((warn_unused_result));

/* Of the html emitter: where its page opens, as in struct html_content. What is pointed to stays until it finishes. */
void html_show(struct emitter *e, const char *view, const char *file, int line);

#endif /* KRAIT_EMIT_HTML_H */
