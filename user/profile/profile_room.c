/* SPDX-License-Identifier: BSD-2-Clause */
/* profile_room.c - how much a profile may hold, and who pays for it. */
#include <errno.h>

#include "profile/profile_tables.h"

/*
 * At most 1.5 GiB of one event when all is full: 770 MiB of nodes (32 bytes, and 16 of the index),
 * 370 MiB of frames (72 and 16), 64 MiB of code objects with 256 MiB of line tables, 256 MiB of
 * strings. Each further event adds 16 bytes a node. While an index grows it is there twice: half
 * as much of it again.
 */
static const struct profile_limits defaults = { {
	[PROFILE_NODES] = 16U << 20,
	[PROFILE_FRAMES] = 4U << 20,
	[PROFILE_CODES] = 1U << 20,
	[PROFILE_LINE_BYTES] = 256U << 20,
	[PROFILE_STRING_BYTES] = 256U << 20,
} };

/* Of each, one part in so many is root's alone. */
#define ROOT_RESERVE 8

/* A build for tests has less room, in powers of two (Makefile). */
#ifndef PROFILE_ROOM_SHIFT
#define PROFILE_ROOM_SHIFT 0
#endif

const struct profile_limits *profile_limits_default(void)
{
	return &defaults;
}

int profile_room_init(struct profile *p, const struct profile_limits *limits)
{
	for (int i = 0; i < PROFILE_RESOURCE_CNT; i++) {
		__u64 total = limits->max[i] >> PROFILE_ROOM_SHIFT;

		p->quotas[i] = quota__new(total, total / ROOT_RESERVE);
		if (!p->quotas[i])
			return -ENOMEM;
	}
	return 0;
}

void profile_room_free(struct profile *p)
{
	for (int i = 0; i < PROFILE_RESOURCE_CNT; i++)
		quota__free(p->quotas[i]);
}

int profile_room_take(struct profile *p, enum profile_resource resource, __u64 n)
{
	int err = quota__take(p->quotas[resource], p->owner, n);

	/* A frame without a code object or lines is still a true one. */
	if (err && resource != PROFILE_CODES && resource != PROFILE_LINE_BYTES)
		p->refused = true;
	return err;
}

void profile_room_give(struct profile *p, enum profile_resource resource, __u64 n)
{
	quota__give(p->quotas[resource], p->owner, n);
	p->refused = true;
}

void profile__begin(struct profile *p, unsigned owner)
{
	p->owner = owner;
	p->refused = false;
}

bool profile__refused(const struct profile *p)
{
	return p->refused;
}

const struct quota *profile__quota(const struct profile *p, enum profile_resource resource)
{
	return p->quotas[resource];
}

const char *profile_resource_name(enum profile_resource resource)
{
	static const char *const names[PROFILE_RESOURCE_CNT] = {
		[PROFILE_NODES] = "stack nodes",
		[PROFILE_FRAMES] = "frames",
		[PROFILE_CODES] = "code objects",
		[PROFILE_LINE_BYTES] = "bytes of line tables",
		[PROFILE_STRING_BYTES] = "bytes of names",
	};

	return names[resource];
}
