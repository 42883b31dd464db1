/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * browser.h - what krait report --tui shows, and what keys do there; needs no terminal.
 *
 * A list of functions with Self and Total, each with its callers (or callees) below it as far as they are opened; lists of
 * threads, programs and files, of which one can be entered; and the source of a function.
 *
 * Must hold: numbers are those of krait report: of the counts, or of what is zoomed into.
 */
#ifndef KRAIT_CMD_REPORT_BROWSER_H
#define KRAIT_CMD_REPORT_BROWSER_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/top/screen.h"
#include "cmd/top/source.h"
#include "profile/counts.h"
#include "profile/view.h"

enum browser_list {
	BROWSER_FUNCTIONS,
	BROWSER_THREADS,
	BROWSER_PROGRAMS,
	BROWSER_FILES,
	BROWSER_LISTS
};

/* A function whose tree is open. */
struct browser_tree {
	__u32 frame;
	struct view_node *nodes; /* as callers_of() makes them: [1] is the function */
	bool *open;
	__u32 cnt;
};

struct browser_row {
	__u32 frame; /* of the list's view */
	__u32 tree, node; /* node 0: the row is not in a tree */
	unsigned depth;
	bool has_more, open;
	__u64 self, total;
};

struct browser {
	const char *title; /* of the file */
	const char *source_dir; /* where to look for files that are not here; NULL: nowhere */
	const struct counts *all; /* borrowed */
	struct counts *zoomed; /* into a thread or a program; NULL: all */
	char zoom[128]; /* its name */
	__u32 file; /* string id: only its functions; 0: all */
	enum browser_list list;
	struct view *view; /* of the list */
	struct browser_tree *trees;
	__u32 tree_cnt, tree_cap;
	struct browser_row *rows;
	__u32 row_cnt, row_cap;
	__u32 cursor, offset; /* index of a row, or of a line of source */
	__u32 list_cursor, list_offset; /* while source is shown */
	unsigned page; /* visible rows, set by drawing */
	struct top_source *source; /* NULL: not shown */
	bool by_total, callees, help, typing;
	char filter[64], message[128];
};

/* counts: borrowed. Returns 0 or -ENOMEM; free it in either case. */
int browser_init(struct browser *b, const struct counts *counts, const char *title)
	__attribute__((warn_unused_result));
void browser_free(struct browser *b);

/* Handles a key: a character or enum ui_key. False: it ends. */
bool browser_key(struct browser *b, int key);

static inline const struct counts *browser_counts(const struct browser *b)
{
	return b->zoomed ? b->zoomed : b->all;
}

/* The columns of annotate()'s lines in which these begin. */
#define BROWSER_SELF 0
#define BROWSER_TOTAL 17

/* What a line of annotate() has there, in percent; 0: nothing. */
static inline double browser_share(const char *line, unsigned column)
{
	return strnlen(line, column + 7) == column + 7 && line[column + 3] == '.' &&
			       line[column + 6] == '%' ?
		       strtod(line + column, NULL) :
		       0;
}

void browser_draw(struct browser *b, struct screen *s);

#endif /* KRAIT_CMD_REPORT_BROWSER_H */
