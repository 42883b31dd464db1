/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * native_frames.h - frames for native code of a capture: from the file if it is still there, else
 * from what the recording stored; with source lines and inlined functions if they are wanted.
 */
#ifndef KRAIT_CAPTURE_IMPORT_NATIVE_FRAMES_H
#define KRAIT_CAPTURE_IMPORT_NATIVE_FRAMES_H

#include <linux/types.h>
#include <stdbool.h>

#include "native/names/fetched_symbols.h"

struct dict;
struct native_files;
struct native_name;
struct native_names;
struct object_file;
struct source_lines;

/* What a recording has stored about a place; name NULL: nothing. */
struct stored_name {
	const struct native_names *names;
	const struct native_name *name;
};

/* All zero initially, except dict and files. */
struct native_frames {
	struct dict *dict; /* borrowed */
	struct native_files *files; /* borrowed; NULL: no files are opened */
	struct source_lines *sources; /* NULL: not wanted, or no files are opened */
	bool want_sources, want_inlined;
	struct fetched_symbols fetched;
	__u32 place_cnt; /* places whose lines are known */
};

void native_frames_want_sources(struct native_frames *n, bool inlined);
void native_frames_deinit(struct native_frames *n);
/* The frame of a place in the file; 0: nothing is known about it. */
__u32 native_frames_make(struct native_frames *n, struct object_file *file, __u64 offset,
			 const struct stored_name *stored);

#endif /* KRAIT_CAPTURE_IMPORT_NATIVE_FRAMES_H */
