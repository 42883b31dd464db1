/* SPDX-License-Identifier: BSD-2-Clause */
#include "sampler/anchors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "util/quota.h"

struct anchors {
	struct anchor *map; /* shared with the kernel */
	__u64 last_epoch;
	struct quota *quota;
	int free_cnt;
	int free[KRAIT_MAX_ANCHORS];
	unsigned owners[KRAIT_MAX_ANCHORS]; /* owners of the taken ones */
};

/* This fraction of the anchors is reserved for root. */
#define ROOT_RESERVE 8

#define MAP_BYTES (KRAIT_MAX_ANCHORS * sizeof(struct anchor))

struct anchors *anchors__new(int fd)
{
	struct anchors *a = calloc(1, sizeof(*a));
	void *map;

	if (!a)
		return NULL;
	map = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		free(a);
		return NULL;
	}
	a->map = map;
	a->quota = quota__new(KRAIT_MAX_ANCHORS, KRAIT_MAX_ANCHORS / ROOT_RESERVE);
	if (!a->quota) {
		anchors__free(a);
		return NULL;
	}
	for (int i = 0; i < KRAIT_MAX_ANCHORS; i++)
		a->free[a->free_cnt++] = KRAIT_MAX_ANCHORS - 1 - i;
	return a;
}

void anchors__free(struct anchors *a)
{
	if (!a)
		return;
	munmap(a->map, MAP_BYTES);
	quota__free(a->quota);
	free(a);
}

int anchors__take(struct anchors *a, unsigned owner)
{
	int index;

	if (quota__take(a->quota, owner, 1))
		return -ENOSPC;
	index = a->free[--a->free_cnt];
	a->owners[index] = owner;
	return index;
}

static void set_epoch(struct anchor *anchor, __u64 epoch)
{
	__atomic_store_n(&anchor->epoch, epoch, __ATOMIC_SEQ_CST);
}

void anchors__stop(struct anchors *a, int index)
{
	set_epoch(&a->map[index], 0);
}

void anchors__give_back(struct anchors *a, int index)
{
	set_epoch(&a->map[index], 0);
	quota__give(a->quota, a->owners[index], 1);
	a->free[a->free_cnt++] = index;
}

void anchors__begin(struct anchors *a, int index, __u64 tstate_addr, const __u64 *addrs, __u32 cnt)
{
	struct anchor *anchor = &a->map[index];

	set_epoch(anchor, 0);
	anchor->tstate_addr = tstate_addr;
	anchor->addr_cnt = cnt < KRAIT_ANCHOR_FRAMES ? cnt : KRAIT_ANCHOR_FRAMES;
	if (cnt)
		memcpy(anchor->addrs, addrs, anchor->addr_cnt * sizeof(*addrs));
}

void anchors__complete(struct anchors *a, int index, __u64 seq)
{
	a->map[index].seq = seq;
	set_epoch(&a->map[index], ++a->last_epoch);
}

struct anchor_deltas anchors__deltas(const struct anchors *a, int index)
{
	const struct anchor *anchor = &a->map[index];

	return (struct anchor_deltas){
		.cnt = __atomic_load_n(&anchor->deltas, __ATOMIC_RELAXED),
		.frames = __atomic_load_n(&anchor->delta_frames, __ATOMIC_RELAXED),
	};
}

__u64 anchors__refused(const struct anchors *a, unsigned owner)
{
	return quota__refused(a->quota, owner);
}
