/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * native_names.h - what native code was called when it was recorded: lines in the notes of a recording's
 * DSO, which perf does not read. Who reads the capture later, or elsewhere, may have other files.
 *
 *   native /usr/lib/x86_64-linux-gnu/libz.so.1
 *    1d2f4 deflate_slow
 *
 * A line for each file, and below it one for each place that was met: the offset in the file, of a caller
 * the one before, which is still in its call.
 *
 * Must hold: when read, the text may be anything.
 */
#ifndef KRAIT_DSO_NATIVE_NAMES_H
#define KRAIT_DSO_NATIVE_NAMES_H

#include <linux/types.h>
#include <stdio.h>

#include "profile/idindex.h"
#include "profile/strtab.h"

/* Some megabytes of lines; a recording of hours meets some thousand. */
#define NATIVE_NAMES_MAX 65536U

struct native_name {
	__u32 path, name; /* of texts */
	__u64 offset;
};

/* All zero is none. */
struct native_names {
	struct native_name *list; /* in the order in which they came */
	__u32 cnt, cap;
	struct idindex index; /* ids are numbers + 1 */
	struct strtab texts;
};

/* 0 or -ENOMEM. A place that is known, and what is beyond the limit, changes nothing. */
int native_names_add(struct native_names *n, const char *path, __u64 offset, const char *name)
	__attribute__((warn_unused_result));
/* NULL: not known. Valid until free. */
const char *native_names_find(const struct native_names *n, const char *path, __u64 offset);
void native_names_free(struct native_names *n);

void native_names_write(const struct native_names *n, FILE *out);
/* Takes the lines out of notes. 0 or -ENOMEM. */
int native_names_read(struct native_names *n, const char *notes)
	__attribute__((warn_unused_result));

#endif /* KRAIT_DSO_NATIVE_NAMES_H */
