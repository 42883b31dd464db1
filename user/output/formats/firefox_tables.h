/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * firefox_tables.h - tables that all threads of a Firefox profile share: stacks, frames, functions,
 * sources and strings. A stack is a node of the dictionary.
 */
#ifndef KRAIT_OUTPUT_FORMATS_FIREFOX_TABLES_H
#define KRAIT_OUTPUT_FORMATS_FIREFOX_TABLES_H

#include "output/places.h"
#include "profile/dict.h"
#include "profile/states.h"
#include "base/text/json.h"

/*
 * Categories of frames, as indexes of the list in the profile's "meta"; those of waits follow, by
 * state.
 */
enum firefox_category {
	FIREFOX_PYTHON,
	FIREFOX_OTHER,
	FIREFOX_NATIVE,
	FIREFOX_KERNEL,
	FIREFOX_WAITS
};
#define FIREFOX_CATEGORIES (FIREFOX_WAITS + STATE_CNT - STATE_GIL)

static inline unsigned firefox_wait_category(enum state state)
{
	return FIREFOX_WAITS + (unsigned)state - STATE_GIL;
}

/* Initially all zero except for the profile and its dictionary. */
struct firefox_tables {
	const struct profile *profile;
	const struct dict *dict;
	struct places lines, functions;
	/* by frame of the dictionary: index into lines; PLACE_NONE if it is not code, or not counted */
	__u32 *line_of;
	__u32 *function_of; /* by index into lines */
	__u32 *stack_of; /* by node: index into the stack table; PLACE_NONE: none */
	struct places sources, names; /* of file and name strings; only place.name counts */
	__u32 *source_of; /* by function */
};

/* Returns 0 or -ENOMEM. */
int firefox_tables_build(struct firefox_tables *t) __attribute__((warn_unused_result));
void firefox_tables_free(struct firefox_tables *t);
/* Writes the "shared" member. */
void firefox_tables_put(struct firefox_tables *t, struct json *j);

/* Returns the string index of a state's name. */
__u32 firefox_state_string(const struct firefox_tables *t, enum state state);

/* Writes an index; null for PLACE_NONE. */
void firefox_put_index(struct json *j, __u32 index);

#endif /* KRAIT_OUTPUT_FORMATS_FIREFOX_TABLES_H */
