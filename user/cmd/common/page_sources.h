/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page_sources.h - what commands that write pages have in common: the text of sources (emit_options.source), links to
 * an editor, and a browser.
 *
 * Must hold: output/source_lookup.h decides who may read a file. A command with more rights than its
 * caller reads in a child with the caller's rights. It ends in bounded time, however many files do
 * not answer.
 */
#ifndef KRAIT_CMD_COMMON_PAGE_SOURCES_H
#define KRAIT_CMD_COMMON_PAGE_SOURCES_H

#include <linux/types.h>
#include <stdbool.h>

#include <argp.h>

#include "output/emitter.h"

struct page_sources {
	const char *folder; /* where to look for files that moved; NULL: nowhere */
	bool apart; /* read in a child */
	__u64 until_ns; /* deadline, set at the first file */
};

/* If sources are wanted, sets *options to use *s, which must outlive it. */
void page_sources_offer(struct page_sources *s, struct emit_options *options);

#define PAGE_NO_SOURCE_HELP                                                                        \
	"leave out the text of source files: in html (otherwise included if the profiled program could read them), and what record keeps for containers, chroots and cells"

/* Rows of a table of options. */
#define PAGE_EDITOR_OPTION(key)                                                                       \
	{                                                                                             \
		"editor", key, "EDITOR", 0,                                                           \
			"html: links from lines to your editor: vscode, idea, or an address such as " \
			"\"myeditor://open?file={file}&line={line}\""                                 \
	}
#define PAGE_OPEN_OPTION(key)                                                                      \
	{                                                                                          \
		"open", key, NULL, 0,                                                              \
			"html: show the page in a browser, under sudo in the user's own"           \
	}

/* Returns the template of --editor, for emit_options.editor; anything else ends the program. */
const char *page_editor(const char *arg, const struct argp_state *state);
/* Ends the program if none of the outputs is a page: --open would show nothing. */
void page_must_be_among(const char *const *paths, unsigned cnt, const struct argp_state *state);
/*
 * Shows those of the files that are pages, by xdg-open with the rights of the user behind sudo. If that fails a line says so;
 * the page is there anyway.
 */
void page_open(const char *const *paths, unsigned cnt);

#endif /* KRAIT_CMD_COMMON_PAGE_SOURCES_H */
