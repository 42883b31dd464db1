/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html_strip.h - a page's samples in time order. The page draws the strip above the graph from
 * them, and sums them up when the user chooses a range or a lane.
 *
 * Must hold: memory and file size are bounded; if samples were merged or left out, the page is
 * told. For each node the samples add up to what the tree has there, or the strip is left out.
 */
#ifndef KRAIT_OUTPUT_PAGE_HTML_STRIP_H
#define KRAIT_OUTPUT_PAGE_HTML_STRIP_H

#include <stdio.h>

#include "output/page/html_measures.h"
#include "profile/profile.h"

/*
 * Samples in one page; if there are more, each stack's samples within the shortest stretches become
 * one entry.
 */
#define HTML_STRIP_MAX (1U << 20)

struct html_strip;

/* Returns NULL if out of memory. */
struct html_strip *html_strip__new(void);
void html_strip__free(struct html_strip *s);
/* Returns 0 or -ENOMEM. */
int html_strip__add(struct html_strip *s, const struct profile_sample *sample)
	__attribute__((warn_unused_result));

/*
 * Writes "strip": the samples of the event, or of time, as the page has it; nothing if there are
 * none. p: as at the emitter's finish. page_node: by node of the dictionary. May be called
 * repeatedly. Returns 0 or -errno.
 */
int html_strip__put(struct html_strip *s, FILE *out, const struct profile *p, unsigned event,
		    const struct html_measures *m, const __u32 *page_node)
	__attribute__((warn_unused_result));

#endif /* KRAIT_OUTPUT_PAGE_HTML_STRIP_H */
