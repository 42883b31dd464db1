/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page_sources.h - source text for pages: emit_options.source of the commands that write them.
 *
 * Must hold: output/source_lookup.h decides who may read a file. A command with more rights than its
 * caller reads in a child with the caller's rights. It ends in bounded time, however many files do
 * not answer.
 */
#ifndef KRAIT_CMD_COMMON_PAGE_SOURCES_H
#define KRAIT_CMD_COMMON_PAGE_SOURCES_H

#include <linux/types.h>
#include <stdbool.h>

#include "output/emitter.h"

struct page_sources {
	const char *folder; /* where to look for files that moved; NULL: nowhere */
	bool apart; /* read in a child */
	__u64 until_ns; /* deadline, set at the first file */
};

/* If sources are wanted, sets *options to use *s, which must outlive it. */
void page_sources_offer(struct page_sources *s, struct emit_options *options);

#define PAGE_NO_SOURCE_HELP                                                                        \
	"html: leave out the text of source files (otherwise included if the profiled program could read them)"

#endif /* KRAIT_CMD_COMMON_PAGE_SOURCES_H */
