/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parts.h - places in native code of which more is known than their function: each stands for one frame or
 * several, from the outermost on, that have source lines; the others are inlined in the first.
 *
 * Must hold: ids are those of a dictionary that forgets nothing meanwhile.
 */
#ifndef KRAIT_PROFILE_PARTS_H
#define KRAIT_PROFILE_PARTS_H

#include <linux/types.h>
#include <stdbool.h>

#include "profile/idindex.h"

struct dict;
struct native_place;
struct profile;

struct parts_entry {
	__u32 frame, first, cnt; /* of the list of frames */
};

/* All zero is none. */
struct parts {
	struct parts_entry *entries;
	__u32 entry_cnt, entry_cap;
	__u32 *frames;
	__u32 cnt, cap;
	struct idindex index; /* of entries, from 1 */
	__u32 *nodes; /* parts_expand(): by node; 0 it stays. NULL: not called */
	__u32 node_cnt;
};

/* The frame consists of these. 0 or -ENOMEM. */
int parts_set(struct parts *p, __u32 frame, const __u32 *frames, __u32 cnt)
	__attribute__((warn_unused_result, nonnull));
/* *ret_cnt is 0 where nothing is known. */
const __u32 *parts_of(const struct parts *p, __u32 frame, __u32 *ret_cnt) __attribute__((nonnull));
/* NULL when out of memory. */
struct parts *parts__new(void) __attribute__((warn_unused_result));
void parts__free(struct parts *p);
/* Forgets all. */
void parts__clear(struct parts *p) __attribute__((nonnull));

/* Functions at one place; what is inlined deeper is left out. */
#define PARTS_MAX 32U

/* What is known of one function at a place. */
struct part_line {
	const char *name; /* NULL of the first, which has the place's own, and where nobody says */
	const char *source; /* NULL unknown */
	int line; /* 0 unknown */
};

/*
 * The frame of a place has these lines, from the outermost function on; without inlined it is one function,
 * at the innermost line. 0 or -ENOMEM.
 */
int parts_add(struct dict *d, __u32 frame, const struct native_place *place,
	      const struct part_line *lines, unsigned cnt, bool inlined)
	__attribute__((warn_unused_result, nonnull));

/* The child for a frame, or for all of its parts below each other; 0 where there is no room. */
__u32 parts_child(struct dict *d, __u32 parent, __u32 frame) __attribute__((nonnull));

/*
 * What is counted at stacks of such frames is counted at stacks of their parts from now on. Stacks without
 * room stay as they are. 0 or -ENOMEM.
 */
int parts_expand(struct profile *p) __attribute__((warn_unused_result, nonnull));
/* The node that stands for one from before. */
static inline __u32 parts_node(const struct parts *p, __u32 node)
{
	return p->nodes && node <= p->node_cnt && p->nodes[node] ? p->nodes[node] : node;
}

#endif /* KRAIT_PROFILE_PARTS_H */
