/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parts.h - places in native code about which more is known than their function: each stands for
 * one or more frames with source lines, from the outermost on; all but the first are inlined.
 *
 * Must hold: ids belong to a dictionary that forgets nothing meanwhile.
 */
#ifndef KRAIT_PROFILE_PARTS_H
#define KRAIT_PROFILE_PARTS_H

#include <linux/types.h>
#include <stdbool.h>

#include "profile/idindex.h"
#include "base/data/source_frame.h"

struct dict;
struct native_place;
struct profile;

struct parts_entry {
	__u32 frame, first, cnt; /* first, cnt: in the list of frames */
};

/* All zero: none. */
struct parts {
	struct parts_entry *entries;
	__u32 entry_cnt, entry_cap;
	__u32 *frames;
	__u32 cnt, cap;
	struct idindex index; /* of entries, from 1 */
	__u32 *nodes; /* parts_expand(): by node; 0: unchanged. NULL: not called */
	__u32 node_cnt;
};

/* *ret_cnt is 0 if nothing is known. */
const __u32 *parts_of(const struct parts *p, __u32 frame, __u32 *ret_cnt) __attribute__((nonnull));
/* NULL: out of memory. */
struct parts *parts__new(void) __attribute__((warn_unused_result));
void parts__free(struct parts *p);
/* Forgets all. */
void parts__clear(struct parts *p) __attribute__((nonnull));

/*
 * Sets the lines of a place's frame, from the outermost function on; without inlined it becomes one
 * function, at the innermost line. Returns 0 or -ENOMEM.
 */
int parts_add(struct dict *d, __u32 frame, const struct native_place *place,
	      const struct source_frame *lines, unsigned cnt, bool inlined)
	__attribute__((warn_unused_result, nonnull));

/* The child for a frame, or for all of its parts, one below the other; 0: no room. */
__u32 parts_child(struct dict *d, __u32 parent, __u32 frame) __attribute__((nonnull));

/*
 * Moves the counts of stacks with such frames to stacks of their parts. Stacks that find no room
 * stay as they are. Returns 0 or -ENOMEM.
 */
int parts_expand(struct profile *p) __attribute__((warn_unused_result, nonnull));
/* The node that replaces one from before. */
static inline __u32 parts_node(const struct parts *p, __u32 node)
{
	return p->nodes && node <= p->node_cnt && p->nodes[node] ? p->nodes[node] : node;
}

#endif /* KRAIT_PROFILE_PARTS_H */
