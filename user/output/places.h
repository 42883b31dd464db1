/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * places.h - functions, or lines of them, numbered from 0 in order of appearance.
 *
 * The frames of a profile are finer than outputs want (column, code unit): here they merge. A place
 * is a frame of which only kind, name, file, first line and line (-1: unknown) count.
 */
#ifndef KRAIT_OUTPUT_PLACES_H
#define KRAIT_OUTPUT_PLACES_H

#include <stdbool.h>

#include "profile/idindex.h"
#include "profile/profile.h"

/* Initially all zero: empty. */
struct places {
	struct profile_frame *list; /* places */
	__u32 cnt, cap;
	struct idindex index;
};

#define PLACE_NONE (~0U)

/* Returns the place's number; PLACE_NONE: out of memory. */
__u32 places_add(struct places *x, const struct profile_frame *place);
/* Returns the number of a lone string, for callers that number strings. */
__u32 places_add_string(struct places *x, __u32 string);
/*
 * Returns the number of a frame's place. lines: keep its line and, for native code, the file of
 * that line.
 */
__u32 places_add_frame(struct places *x, const struct profile_frame *frame, bool lines);
void places_free(struct places *x);

/*
 * Returns by frame of the dictionary whether it is on a stack that the profile has counted: others are nobody's, or of
 * another profile. The caller frees it; NULL: out of memory.
 */
bool *places_counted(const struct profile *p) __attribute__((nonnull));

/* Returns a name for it: never empty, not yet printable. */
const char *place_name(const struct dict *dict, const struct profile_frame *place);

/* Processes and threads are levels of the tree but not code. */
static inline bool is_code(const struct profile_frame *f)
{
	return f->kind != FRAME_PROCESS && f->kind != FRAME_THREAD;
}

#endif /* KRAIT_OUTPUT_PLACES_H */
