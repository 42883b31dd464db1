/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page_sources.h - source text for pages: emit_options.source of the commands that write them.
 *
 * Must hold: who may read a file is emit/source_lookup.h's to say. A command with more rights than its caller reads in
 * a child, with his; and however many files do not answer, it ends.
 */
#ifndef KRAIT_CMD_PAGE_SOURCES_H
#define KRAIT_CMD_PAGE_SOURCES_H

#include <linux/types.h>
#include <stdbool.h>

#include "emit/emitter.h"

struct page_sources {
	const char
		*folder; /* where files are looked for that are not where they were; NULL nowhere */
	bool apart; /* in a child */
	__u64 until_ns; /* from the first one on */
};

/* Where they are wanted: *options has them from there on; *s outlives it. */
void page_sources_offer(struct page_sources *s, struct emit_options *options);

#define PAGE_NO_SOURCE_HELP                                                                        \
	"html: leave out the text of source files (otherwise included if the profiled program could read them)"

#endif /* KRAIT_CMD_PAGE_SOURCES_H */
