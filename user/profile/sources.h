/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sources.h - source lines that travel with a capture: those of sampled functions whose file is not where somebody who
 * reads the capture would look, or in no file at all (record/samples/kept_sources.h).
 *
 * In the notes of a recording's DSO (capture/dso/native_names.h):
 *
 *   source /app/shop.py
 *    0 cell 2                     (a notebook's cell: how it is called)
 *    12 def total(cart):
 *    13     return sum(cart)
 *    -14 processes had different lines here
 *
 * Must hold: a line for which processes had different texts shows neither. When read, the text is untrusted.
 */
#ifndef KRAIT_PROFILE_SOURCES_H
#define KRAIT_PROFILE_SOURCES_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct quota;

/* Bytes of all lines of a recording, divided among owners (base/share/quota.h). */
#define SOURCES_MAX (4U << 20)
/* Lines beyond are not kept; annotate shows no more, either. */
#define SOURCES_LINE_MAX 1000000
/* Bytes of a line; a longer one is cut. */
#define SOURCES_WIDTH_MAX 1024U

struct source_line {
	int number;
	char *text; /* NULL: processes had different ones */
};

struct source_kept {
	char *path;
	__u32 cell; /* number of the notebook's cell that it is; 0: none */
	bool disputed; /* it had several: never again one */
	struct source_line *lines; /* by number */
	__u32 cnt, cap;
};

/* All zero: empty. */
struct sources {
	struct source_kept *list; /* by path */
	__u32 cnt, cap;
	struct quota *quota; /* made when the first line is added for somebody */
	struct quota *cells; /* made for the first that has a number */
	__u64 left_out; /* functions whose lines found no room */
	__u64 unread; /* functions whose text could not be read */
};

void sources_free(struct sources *s);
/*
 * Adds lines first to last of a text, at an owner's cost. begin: of the first of them; NULL: there is none. Returns 0; -EDQUOT, with
 * none of them added, and counted; -ENOMEM.
 */
int sources_add(struct sources *s, unsigned owner, const char *path, const char *begin, int first,
		int last) __attribute__((warn_unused_result));
/* NULL: nothing is kept of it. */
const struct source_kept *sources_find(const struct sources *s, const char *path);
/*
 * The file's text, with empty lines where nothing is kept. here: what the file contains on this machine, which some of the
 * processes saw, too: used for the other lines, and where the two differ neither is shown; NULL: none of them did. The caller
 * frees it; NULL: out of memory.
 */
char *sources_text(const struct source_kept *k, const char *here);
/* Bytes of that without here: a single line may have a million empty ones before it. */
size_t sources_text_size(const struct source_kept *k);

/*
 * A file is the cell of a notebook: from now on that is what people read (short_path_claim()). Only paths of cells
 * (cell_path_pid()) are believed; a second number, or 0, takes the first away. Returns 0 or -ENOMEM.
 */
int sources_call(struct sources *s, unsigned owner, const char *path, __u32 cell)
	__attribute__((warn_unused_result));

void sources_write(const struct sources *s, FILE *out);
/* Reads the lines, and names of cells, from notes; others are ignored. Returns 0 or -ENOMEM. */
int sources_read(struct sources *s, const char *notes) __attribute__((warn_unused_result));

#endif /* KRAIT_PROFILE_SOURCES_H */
