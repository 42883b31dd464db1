/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/room.h"

#include <errno.h>

#include "base/share/quota.h"

/*
 * At most 1.5 GiB for one event when everything is full: 740 MiB of nodes (13 bytes, 16 in the
 * index and 16 in the event's counts), 290 MiB of frames (57 and 16), 50 MiB of code objects with
 * 256 MiB of line tables, 256 MiB of strings. Each further event adds 16 bytes a node. While an
 * index grows the old and new ones coexist: half as much again.
 */
static const struct profile_limits defaults = { {
	[PROFILE_NODES] = 16U << 20,
	[PROFILE_FRAMES] = 4U << 20,
	[PROFILE_CODES] = 1U << 20,
	[PROFILE_LINE_BYTES] = 256U << 20,
	[PROFILE_STRING_BYTES] = 256U << 20,
} };

/* This fraction of each resource is reserved for root. */
#define ROOT_RESERVE 8

/* A test build has less room, by a power of two (Makefile). */
#ifndef PROFILE_ROOM_SHIFT
#define PROFILE_ROOM_SHIFT 0
#endif

const struct profile_limits *profile_limits_default(void)
{
	return &defaults;
}

int room_init(struct room *r, const struct profile_limits *limits)
{
	for (int i = 0; i < PROFILE_RESOURCE_CNT; i++) {
		__u64 total = limits->max[i] >> PROFILE_ROOM_SHIFT;

		r->quotas[i] = quota__new(total, total / ROOT_RESERVE);
		if (!r->quotas[i])
			return -ENOMEM;
	}
	return 0;
}

void room_free(struct room *r)
{
	for (int i = 0; i < PROFILE_RESOURCE_CNT; i++)
		quota__free(r->quotas[i]);
}

void room_begin(struct room *r, unsigned owner)
{
	r->owner = owner;
	r->refused = false;
}

int room_take(struct room *r, enum profile_resource resource, __u64 n)
{
	int err = quota__take(r->quotas[resource], r->owner, n);

	/* A frame without a code object or lines is still correct. */
	if (err && resource != PROFILE_CODES && resource != PROFILE_LINE_BYTES)
		r->refused = true;
	if (!err && (resource == PROFILE_STRING_BYTES || resource == PROFILE_LINE_BYTES))
		r->bytes += n;
	return err;
}

void room_untake(struct room *r, enum profile_resource resource, __u64 n)
{
	quota__give(r->quotas[resource], r->owner, n);
	r->refused = true;
}

void room_give(struct room *r, enum profile_resource resource, unsigned owner, __u64 n)
{
	quota__give(r->quotas[resource], owner, n);
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
