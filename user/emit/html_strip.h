/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html_strip.h - the samples of a page in the order of time: the strip above the graph is drawn of them, and where a
 * range or a lane is chosen, the page adds them up.
 *
 * Must hold: memory and the file are bounded; where samples have gone together, or are left out, the page is told.
 * Of each node the samples have all that the tree has there, or the strip is left out.
 */
#ifndef KRAIT_EMIT_HTML_STRIP_H
#define KRAIT_EMIT_HTML_STRIP_H

#include <stdio.h>

#include "emit/html_measures.h"
#include "profile/profile.h"

/* In one page; of more the shortest stretches become one entry for each stack in them. */
#define HTML_STRIP_MAX (1U << 20)

struct html_strip;

/* NULL: out of memory. */
struct html_strip *html_strip__new(void);
void html_strip__free(struct html_strip *s);
/* 0 or -ENOMEM. */
int html_strip__add(struct html_strip *s, const struct profile_sample *sample)
	__attribute__((warn_unused_result));

/*
 * "strip", of the samples of the event or of time, as the page has it; nothing where there are none. p: as the emitter
 * finishes it. page_node: by node of the dictionary. May be called again. 0 or -errno.
 */
int html_strip__put(struct html_strip *s, FILE *out, const struct profile *p, unsigned event,
		    const struct html_measures *m, const __u32 *page_node)
	__attribute__((warn_unused_result));

#endif /* KRAIT_EMIT_HTML_STRIP_H */
