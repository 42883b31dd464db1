/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/maps/anchors.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/share/quota.h"

/* This fraction of the anchors is reserved for root. */
#define ROOT_RESERVE 8

#define MAP_BYTES (KRAIT_MAX_ANCHORS * sizeof(struct anchor))

/*
 * Wherever a BPF map is mapped, the kernel makes all its pages present. So addresses are reserved
 * for all anchors, but only those that threads have had are mapped, in parts of so many bytes: whole
 * pages, which may have 64 KiB.
 */
#define PART_BYTES (128 * 1024)
#define PARTS ((MAP_BYTES + PART_BYTES - 1) / PART_BYTES)

struct anchors {
	struct anchor *map; /* shared with the kernel where is_mapped, otherwise only reserved */
	int fd; /* the map's; borrowed */
	__u32 cnt; /* of the map */
	__u64 last_epoch;
	struct quota *quota;
	int free_cnt;
	int free[KRAIT_MAX_ANCHORS];
	unsigned owners[KRAIT_MAX_ANCHORS]; /* owners of the taken ones */
	bool is_mapped[PARTS];
};

static int map_part(struct anchors *a, size_t part)
{
	size_t at = part * PART_BYTES;
	size_t all = a->cnt * sizeof(struct anchor);
	size_t bytes = at + PART_BYTES < all ? PART_BYTES : all - at;

	if (a->is_mapped[part])
		return 0;
	if (mmap((char *)a->map + at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, a->fd,
		 (off_t)at) == MAP_FAILED)
		return -errno;
	a->is_mapped[part] = true;
	return 0;
}

/* Maps the parts in which the anchor lies. Returns 0 or -errno. */
static int map_anchor(struct anchors *a, int index)
{
	size_t at = (size_t)index * sizeof(struct anchor);
	int err = map_part(a, at / PART_BYTES);

	return err ? err : map_part(a, (at + sizeof(struct anchor) - 1) / PART_BYTES);
}

struct anchors *anchors__new(int fd, __u32 cnt)
{
	struct anchors *a = calloc(1, sizeof(*a));
	void *map;

	if (!a)
		return NULL;
	map = mmap(NULL, MAP_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED) {
		free(a);
		return NULL;
	}
	a->map = map;
	a->fd = fd;
	a->cnt = cnt;
	/* If this is impossible, nothing should begin. */
	if (map_anchor(a, 0)) {
		anchors__free(a);
		return NULL;
	}
	a->quota = quota__new(cnt, cnt / ROOT_RESERVE);
	if (!a->quota) {
		anchors__free(a);
		return NULL;
	}
	for (int i = (int)cnt; i;)
		a->free[a->free_cnt++] = --i;
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

__u32 anchors__cnt(const struct anchors *a)
{
	return a->cnt;
}

int anchors__take(struct anchors *a, unsigned owner)
{
	int index, err;

	if (quota__take(a->quota, owner, 1))
		return -ENOSPC;
	index = a->free[a->free_cnt - 1];
	err = map_anchor(a, index);
	if (err) {
		quota__give(a->quota, owner, 1);
		return err;
	}
	a->free_cnt--;
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
