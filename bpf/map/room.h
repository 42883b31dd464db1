/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * room.h - who may put how much into the ring buffer and into procs: applies the rule of share.h to
 * the books that the kernel shares with user space.
 *
 * An owner holds the part of the ring buffer that was produced for it and has not been consumed
 * yet. Samples may fill it up to sample_bytes_max; the rest is for process events. Snapshots of
 * code objects stop once it is half full, except for an owner that holds next to nothing; user
 * space then reads the object itself.
 *
 * Must hold: a refused record costs its own owner only, and is counted for that owner.
 */
#ifndef KRAIT_BPF_MAP_ROOM_H
#define KRAIT_BPF_MAP_ROOM_H

#include "bpf/bounds.h"
#include "bpf/map/procs.h"
#include "bpf/share.h"

/* This fraction of the ring buffer and of procs is reserved for root. */
#define ROOM_ROOT_RESERVE 8

static __always_inline struct owner_books *owner_books(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&owners, &zero);
}

/* See share.h. */
__weak __noinline int owner_look_apart(__u32 uid, __u32 first, __u32 enter)
{
	struct owner_books *books = owner_books();

	return books ? owner_look(&books->table, uid, first, enter) : OWNER_UNKNOWN;
}

static __always_inline struct owner_use *owner_use(struct owner_books *books, __u32 owner)
{
	return &books->use[masked(owner, OWNER_CNT - 1)];
}

/*
 * The owner's bytes in the ring buffer that user space has not read yet. The books may lag behind
 * what it has read.
 */
static __always_inline __u64 ring_held(const struct owner_use *use)
{
	__s64 held = use->produced - use->consumed;

	return held > 0 ? held : 0;
}

/*
 * May this owner put bytes more into the ring buffer? limit: how full all owners together may make
 * it.
 */
static __always_inline int ring_allows(struct owner_books *books, __u32 owner, __u64 size,
				       __u64 waiting, __u64 limit)
{
	__u64 bytes = share_ring_bytes(size), free;

	/* When it is nearly empty, nobody has too much. */
	if (waiting + bytes < limit / 16)
		return 1;
	free = share_free(owner, limit, waiting, limit / ROOM_ROOT_RESERVE,
			  ring_held(&books->use[OWNER_ROOT]));
	return share_allows(owner, ring_held(owner_use(books, owner)), bytes, limit, free);
}

static __always_inline void ring_took(struct owner_use *use, __u64 size)
{
	atomic_add(&use->produced, share_ring_bytes(size));
}

/* Is there room for snapshots of this owner's code objects? */
static __always_inline int ring_wants_code(const struct owner_use *use, __u64 waiting, __u64 limit)
{
	return waiting < limit / 2 || ring_held(use) < limit / 16;
}

/* Moves the entry from one owner's books to another's. */
static __always_inline void move_proc(struct owner_books *books, __u32 from, __u32 to)
{
	if (from == to)
		return;
	atomic_add(&owner_use(books, from)->procs, -1);
	atomic_add(&owner_use(books, to)->procs, 1);
}

#endif /* KRAIT_BPF_MAP_ROOM_H */
