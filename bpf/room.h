/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * room.h - who may put what into the ring buffer and into procs: the rule of share.h, over the books
 * that user space shares.
 *
 * Of the ring buffer an owner holds what was produced for it and not consumed yet. Samples may fill it
 * up to sample_bytes_max, the rest is for process events. Snapshots of code objects stop when it is half
 * full, but for an owner that holds next to nothing; user space reads the object itself then.
 *
 * Must hold: a record that is refused here costs its own owner only, and is counted for it.
 */
#ifndef KRAIT_ROOM_H
#define KRAIT_ROOM_H

/* One part in this many of the ring buffer and of procs is reserved for root. */
#define ROOM_ROOT_RESERVE 8

static __always_inline struct owner_books *owner_books(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&owners, &zero);
}

static __always_inline struct owner_use *owner_use(struct owner_books *books, __u32 owner)
{
	return &books->use[masked(owner, OWNER_CNT - 1)];
}

/* Bytes in the ring buffer that wait for user space, which may already have read more than the books say. */
static __always_inline __u64 ring_held(const struct owner_use *use)
{
	__s64 held = use->produced - use->consumed;

	return held > 0 ? held : 0;
}

/* May this owner put that many more bytes into the ring buffer, of which all may fill limit? */
static __always_inline int ring_allows(struct owner_books *books, __u32 owner, __u64 size,
				       __u64 waiting, __u64 limit)
{
	__u64 bytes = share_ring_bytes(size), free;

	/* Nobody can have too much of what is nearly empty. */
	if (waiting + bytes < limit / 16)
		return 1;
	free = share_free(owner, limit, waiting, limit / ROOM_ROOT_RESERVE,
			  ring_held(&books->use[OWNER_ROOT]));
	return share_allows(owner, ring_held(owner_use(books, owner)), bytes, limit, free);
}

static __always_inline void ring_took(struct owner_use *use, __u64 size)
{
	__sync_fetch_and_add(&use->produced, share_ring_bytes(size));
}

/* Is there room for snapshots of this owner's code objects? */
static __always_inline int ring_wants_code(const struct owner_use *use, __u64 waiting, __u64 limit)
{
	return waiting < limit / 2 || ring_held(use) < limit / 16;
}

#endif /* KRAIT_ROOM_H */
