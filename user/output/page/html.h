/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html.h - the page. Its parts are in flamegraph.html and flamegraph_*.js; this module adds the
 * data.
 */
#ifndef KRAIT_OUTPUT_PAGE_HTML_H
#define KRAIT_OUTPUT_PAGE_HTML_H

#include <stdio.h>

#include "output/emitter.h"
#include "output/page/html_measures.h"
#include "output/page/html_strip.h"

/* Initially all zero except for the measures: then the page has only the tree of stacks. */
struct html_content {
	const struct html_measures *measures;
	/* Samples in time order and what html_strip__put() needs; NULL: none. */
	struct html_strip *strip;
	const struct profile *profile;
	unsigned event;
	/* Where the page opens: "source", at that line of that file; NULL: at the stacks. */
	const char *view, *file;
	int line;
	double seconds[2]; /* compared: how long each recording lasted; 0: unknown */
};

/* Writes the whole page; the caller owns out. Returns 0 or -errno. */
int html_page(FILE *out, const struct emit_options *options, const struct html_content *content)
	__attribute__((warn_unused_result));

/*
 * html emitter only: sets where its page opens, as in struct html_content. The strings must stay
 * valid until it finishes.
 */
void html_show(struct emitter *e, const char *view, const char *file, int line);

#endif /* KRAIT_OUTPUT_PAGE_HTML_H */
