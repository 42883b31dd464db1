/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * native_names.h - the names of native code when it was recorded: lines in the notes of a
 * recording's DSO, which perf does not read. Someone who reads the capture later, or elsewhere, may
 * have other files.
 *
 *   native /usr/lib/x86_64-linux-gnu/libz.so.1
 *    1d2f4 deflate_slow
 *    1e004 deflate_fast
 *    = 1803 deflate.c
 *    = 120 deflate.h<TAB>insert_string
 *
 * A line for each file, and below it one for each place that was met: the offset in the file; for a
 * caller the one before its return address, which is still in the call. Below that, if known, a
 * source line, and one for each function inlined there, from the outermost on;
 * "= wrapper" as profile_frame.wrapper, and "= interpreter" likewise.
 *
 * Must hold: when read, the text is untrusted.
 */
#ifndef KRAIT_CAPTURE_DSO_NATIVE_NAMES_H
#define KRAIT_CAPTURE_DSO_NATIVE_NAMES_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

#include "profile/idindex.h"
#include "profile/strtab.h"

/* Functions at one place; further ones in a file are ignored. */
#define NATIVE_LINES_MAX 32U
/* Some megabytes of lines; a recording of hours meets some thousand. */
#define NATIVE_NAMES_MAX 65536U

struct dict;

struct native_name {
	__u32 path, name; /* offsets in texts; without a name: the frame's when it is written */
	__u64 offset;
	__u32 frame; /* used by the writer */
	bool is_wrapper, is_interpreter; /* as in struct profile_frame */
	__u32 first_line, line_cnt; /* indexes in lines */
};

struct native_line {
	__u32 name, source; /* offsets in texts; name 0: the function with the symbol */
	int line;
};

/* All zero: empty. */
struct native_names {
	struct native_name *list; /* in order of first occurrence */
	__u32 cnt, cap;
	struct idindex index; /* ids are numbers + 1 */
	struct native_line *lines;
	__u32 line_cnt, line_cap;
	struct strtab texts;
};

/*
 * Returns 0 or -ENOMEM. A known place, or one beyond the limit, changes nothing. frame: of a
 * dictionary, which has its lines when everything is written; 0: none. name: NULL: use the frame's
 * at that time, unless it is "[libfoo.so]" and not the interpreter.
 */
int native_names_add(struct native_names *n, const char *path, __u64 offset, const char *name,
		     __u32 frame) __attribute__((warn_unused_result));
/* NULL: unknown. Valid until the next one is added. */
const struct native_name *native_names_find(const struct native_names *n, const char *path,
					    __u64 offset);
static inline const char *native_names_text(const struct native_names *n, __u32 text)
{
	return strtab_text(&n->texts, text);
}
void native_names_free(struct native_names *n);

/* dict: that has the frames; NULL: write no lines. */
void native_names_write(const struct native_names *n, const struct dict *dict, FILE *out);
/* Reads the lines from the notes. Returns 0 or -ENOMEM. */
int native_names_read(struct native_names *n, const char *notes)
	__attribute__((warn_unused_result));

#endif /* KRAIT_CAPTURE_DSO_NATIVE_NAMES_H */
