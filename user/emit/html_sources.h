/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html_sources.h - the text of the source files in which a page has samples, the hottest first.
 *
 * Must hold: who may see a text is for emit_options.source to say; what is left out is in the page with its reason;
 * the text is packed, so that nothing in it can be markup.
 */
#ifndef KRAIT_EMIT_HTML_SOURCES_H
#define KRAIT_EMIT_HTML_SOURCES_H

#include <stdio.h>

#include "emit/emitter.h"
#include "profile/view.h"

/* "sources", or nothing where none are wanted. v: by lines. 0 or -errno. */
int html_put_sources(FILE *out, const struct emit_options *o, const struct view *v)
	__attribute__((warn_unused_result));

#endif /* KRAIT_EMIT_HTML_SOURCES_H */
