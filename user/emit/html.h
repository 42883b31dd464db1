/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html.h - the one page: its parts are in flamegraph.html and flamegraph_*.js, and the data go between them.
 */
#ifndef KRAIT_EMIT_HTML_H
#define KRAIT_EMIT_HTML_H

#include <stdio.h>

#include "emit/emitter.h"
#include "emit/html_measures.h"

/* All of the page; out is the caller's. 0 or -errno. */
int html_page(FILE *out, const struct emit_options *options, const struct html_measures *m)
	__attribute__((warn_unused_result));

#endif /* KRAIT_EMIT_HTML_H */
