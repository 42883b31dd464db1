/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html_sources.h - text of the source files in which a page has samples, the hottest first.
 *
 * Must hold: emit_options.source decides who may see a text; a left-out text is in the page with
 * its reason; the text is packed, so nothing in it can be markup.
 */
#ifndef KRAIT_OUTPUT_PAGE_HTML_SOURCES_H
#define KRAIT_OUTPUT_PAGE_HTML_SOURCES_H

#include <stdio.h>

#include "output/emitter.h"
#include "profile/view.h"

/* Writes "sources", or nothing if none are wanted. v: by lines. Returns 0 or -errno. */
int html_put_sources(FILE *out, const struct emit_options *o, const struct view *v)
	__attribute__((warn_unused_result));

#endif /* KRAIT_OUTPUT_PAGE_HTML_SOURCES_H */
