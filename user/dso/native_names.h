/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * native_names.h - what native code was called when it was recorded: lines in the notes of a recording's
 * DSO, which perf does not read. Who reads the capture later, or elsewhere, may have other files.
 *
 *   native /usr/lib/x86_64-linux-gnu/libz.so.1
 *    1d2f4 deflate_slow
 *    1e004 deflate_fast
 *    = 1803 deflate.c
 *    = 120 deflate.h<TAB>insert_string
 *
 * A line for each file, and below it one for each place that was met: the offset in the file, of a caller
 * the one before, which is still in its call. Below that, where it is known, a source line, and one for each
 * function that was inlined there, from the outermost on; "= wrapper" as profile_frame.wrapper.
 *
 * Must hold: when read, the text may be anything.
 */
#ifndef KRAIT_DSO_NATIVE_NAMES_H
#define KRAIT_DSO_NATIVE_NAMES_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

#include "profile/idindex.h"
#include "profile/strtab.h"

/* Functions at one place; what else a file may claim is not read. */
#define NATIVE_LINES_MAX 32U
/* Some megabytes of lines; a recording of hours meets some thousand. */
#define NATIVE_NAMES_MAX 65536U

struct dict;

struct native_name {
	__u32 path, name; /* of texts; no name: its frame's, when it is written */
	__u64 offset;
	__u32 frame; /* the writer's */
	bool is_wrapper;
	__u32 first_line, line_cnt; /* of lines */
};

struct native_line {
	__u32 name, source; /* of texts; name: 0 of what has the symbol */
	int line;
};

/* All zero is none. */
struct native_names {
	struct native_name *list; /* in the order in which they came */
	__u32 cnt, cap;
	struct idindex index; /* ids are numbers + 1 */
	struct native_line *lines;
	__u32 line_cnt, line_cap;
	struct strtab texts;
};

/*
 * 0 or -ENOMEM. A place that is known, and what is beyond the limit, changes nothing. frame: of a dictionary,
 * which has its lines when all is written; 0 none. name: NULL where the frame has it then, unless it is "[libfoo.so]".
 */
int native_names_add(struct native_names *n, const char *path, __u64 offset, const char *name,
		     __u32 frame) __attribute__((warn_unused_result));
/* NULL: not known. Valid until the next one is added. */
const struct native_name *native_names_find(const struct native_names *n, const char *path,
					    __u64 offset);
static inline const char *native_names_text(const struct native_names *n, __u32 text)
{
	return strtab_text(&n->texts, text);
}
void native_names_free(struct native_names *n);

/* dict: of the frames; NULL: without lines. */
void native_names_write(const struct native_names *n, const struct dict *dict, FILE *out);
/* Takes the lines out of notes. 0 or -ENOMEM. */
int native_names_read(struct native_names *n, const char *notes)
	__attribute__((warn_unused_result));

#endif /* KRAIT_DSO_NATIVE_NAMES_H */
