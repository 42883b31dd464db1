/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile_tables.h - what profile.c (frames, code objects, the tree of stacks) and profile_events.c
 * (counts of each event over that tree) share, and nobody else.
 *
 * Must hold: the nodes have the counts of the selected event, and no others; those of every other event
 * are beside, in its own array. Whatever is added has been taken from its quota before.
 */
#ifndef KRAIT_PROFILE_PROFILE_TABLES_H
#define KRAIT_PROFILE_PROFILE_TABLES_H

#include "profile/identities.h"
#include "profile/idindex.h"
#include "profile/profile.h"
#include "profile/strtab.h"
#include "util/quota.h"

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
	struct quota *quotas[PROFILE_RESOURCE_CNT];
	unsigned owner; /* who pays for what is added */
	bool refused; /* since profile__begin() */
	struct identities identities;
};

/* profile_room.c: quotas, and what is taken and given back for the owner that profile__begin() named. */
int profile_room_init(struct profile *p, const struct profile_limits *limits);
void profile_room_free(struct profile *p);
int profile_room_take(struct profile *p, enum profile_resource resource, __u64 n)
	__attribute__((warn_unused_result));
/* There was no memory for what had been taken. */
void profile_room_give(struct profile *p, enum profile_resource resource, __u64 n);

#endif /* KRAIT_PROFILE_PROFILE_TABLES_H */
