/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile_tables.h - what profile.c (frames, code objects, the tree of stacks) and profile_events.c
 * (counts of each event over that tree) share, and nobody else.
 *
 * Must hold: the nodes have the counts of the selected event, and no others; those of every other event
 * are beside, in its own array.
 */
#ifndef KRAIT_PROFILE_PROFILE_TABLES_H
#define KRAIT_PROFILE_PROFILE_TABLES_H

#include "profile/idindex.h"
#include "profile/profile.h"
#include "profile/strtab.h"

struct node_count {
	__u64 samples, weight;
};

struct event {
	struct profile_event public;
	/* By node, of what is not in the nodes; NULL while the event is selected or has nothing. */
	struct node_count *counts;
	__u32 cap;
};

struct profile {
	struct event *events; /* the nodes have the counts of the selected one */
	unsigned event_cnt, selected;
	struct strtab strings;
	struct profile_frame *frames; /* [0] is unused */
	struct profile_node *nodes; /* [0] is the root */
	struct profile_code *codes; /* [0] is unused */
	__u32 frame_cnt, frame_cap;
	__u32 code_cnt, code_cap;
	__u32 node_cnt, node_cap; /* cnt without [0] */
	struct idindex frame_index, node_index, code_index;
	size_t lines_size; /* of all codes */
};

#endif /* KRAIT_PROFILE_PROFILE_TABLES_H */
