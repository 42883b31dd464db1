/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * room.h - how much a dictionary may hold, and who pays for it (bpf/share.h).
 *
 * Must hold: everything in the dictionary was paid for here first, and is given back when it is
 * forgotten.
 */
#ifndef KRAIT_PROFILE_ROOM_H
#define KRAIT_PROFILE_ROOM_H

#include <linux/types.h>
#include <stdbool.h>

struct quota;

enum profile_resource {
	PROFILE_NODES,
	PROFILE_FRAMES,
	PROFILE_CODES,
	PROFILE_LINE_BYTES,
	PROFILE_STRING_BYTES,
	PROFILE_RESOURCE_CNT
};

struct profile_limits {
	__u64 max[PROFILE_RESOURCE_CNT];
};

struct room {
	struct quota *quotas[PROFILE_RESOURCE_CNT];
	unsigned owner; /* who pays for what is added */
	/* something was refused since room_begin(): what was built is not the whole stack */
	bool refused;
	__u64 bytes; /* of names and lines that were paid for so far, forgotten or not */
};

/* In the file that has them: what a full dictionary takes. */
const struct profile_limits *profile_limits_default(void);
/* "stack nodes" */
const char *profile_resource_name(enum profile_resource resource);

/* Returns 0 or -ENOMEM; free it in either case. */
int room_init(struct room *r, const struct profile_limits *limits)
	__attribute__((warn_unused_result));
void room_free(struct room *r);
void room_begin(struct room *r, unsigned owner);

/* Charges the owner named by room_begin(). Returns 0 or -EDQUOT. */
int room_take(struct room *r, enum profile_resource resource, __u64 n)
	__attribute__((warn_unused_result));
/* Undoes room_take() when there was no memory. */
void room_untake(struct room *r, enum profile_resource resource, __u64 n);
/* Gives back what an owner's forgotten items took. */
void room_give(struct room *r, enum profile_resource resource, unsigned owner, __u64 n);

#endif /* KRAIT_PROFILE_ROOM_H */
