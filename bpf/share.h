/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * share.h - how much of something scarce one owner may hold: the same rule in the kernel and in
 * user space (user/base/share/quota.h).
 *
 * An owner is a place for the processes of one host uid; number 0 is root's. Processes in user
 * namespaces belong to who made the outermost one (task_payer() in kernel_task.h), so whoever has many uids
 * there is one owner all the same. Where the place of a uid may be, nobody can foresee, and it is
 * given back when the uid holds nothing any more (user/kernel/maps/owner_books.h).
 *
 * Root may take whatever is free. All others together must leave a reserve for root. Each of them may
 * hold at most OWNER_WEIGHT times what is still free, so the owner that holds most is refused first,
 * and a single one gets most of it. The last sixteenth is for those who hold next to nothing: even
 * with the largest number of owners, each finds room for a little, however greedy the others are.
 *
 * Must hold: nothing that others hold or take makes an owner lose what it holds.
 */
#ifndef KRAIT_BPF_SHARE_H
#define KRAIT_BPF_SHARE_H

#include "bpf/bounds.h"
#include "bpf/types.h"

#define OWNER_ROOT 0
/* A power of two; owner_place() relies on this value. */
#define OWNER_CNT 256
/* Table places to try for a uid. */
#define OWNER_PROBES 16
#define OWNER_UNKNOWN OWNER_CNT

/* Maps uids to owners. The side that sees a uid first enters it. */
struct owner_table {
	__u32 seed[2]; /* random for each table */
	__u32 uids[OWNER_CNT]; /* by owner; 0: free, or root's */
	__u8 shared[OWNER_CNT]; /* other uids use this number, too */
};

/* The last step of MurmurHash3: each bit of x changes each of the result with probability 1/2. */
static inline __u32 owner_mix(__u32 x)
{
	x ^= x >> 16;
	x *= 0x85ebca6bU;
	x ^= x >> 13;
	x *= 0xc2b2ae35U;
	return x ^ x >> 16;
}

static inline __u32 owner_hash(const struct owner_table *t, __u32 uid)
{
	return owner_mix(owner_mix(uid ^ t->seed[0]) + t->seed[1]);
}

static inline __u32 owner_place(__u32 hash, __u32 probe)
{
	__u32 place = (hash + probe) & (OWNER_CNT - 1);

	/*
	 * Place 0 is root's, so it becomes the last one. Without a branch, whose two sides the
	 * verifier would follow at each place: place - 1 has bits above the eighth only if it
	 * wraps.
	 */
	place |= (place - 1) >> 8 & (OWNER_CNT - 1);
	return masked(place, OWNER_CNT - 1);
}

/* The owner of a host uid if it has a place of its own; else OWNER_UNKNOWN. */
static inline __u32 owner_find(const struct owner_table *t, __u32 uid)
{
	const __u32 hash = owner_hash(t, uid);

	for (__u32 probe = 0; uid && probe < OWNER_PROBES; probe++) {
		__u32 place = owner_place(hash, probe);

		if (t->uids[place] == uid)
			return place;
	}
	return uid ? OWNER_UNKNOWN : OWNER_ROOT;
}

/* Places that one look tries. */
#define OWNER_LOOK 4

/* The uid's place among those from the first on, or OWNER_UNKNOWN. enter: takes a free one. */
static inline __u32 owner_look(struct owner_table *t, __u32 uid, __u32 first, bool enter)
{
	for (__u32 i = 0; i < OWNER_LOOK; i++) {
		__u32 place = owner_place(first, i);

		if (enter && !t->uids[place])
			t->uids[place] = uid;
		if (t->uids[place] == uid)
			return place;
	}
	return OWNER_UNKNOWN;
}

/* In the kernel a global function (map/room.h), over the table of the map owners: verified once. */
#ifdef __bpf__
int owner_look_apart(__u32 uid, __u32 first, __u32 enter);
#define OWNER_LOOK_FROM(t, ...) ((__u32)owner_look_apart(__VA_ARGS__))
#else
#define OWNER_LOOK_FROM(t, ...) owner_look(t, __VA_ARGS__)
#endif

/*
 * The owner of a host uid. A uid that finds no place of its own shares one. No lock: if two uids
 * are entered at the same place at the same moment, one of them moves to another place later.
 */
static inline __u32 owner_of(struct owner_table *t, __u32 uid)
{
	const __u32 hash = owner_hash(t, uid);
	__u32 place;

	if (!uid)
		return OWNER_ROOT;
	/* First all without entering it: an earlier place may have become free since then. */
	for (__u32 i = 0; i < 2 * OWNER_PROBES; i += OWNER_LOOK) {
		place = OWNER_LOOK_FROM(t, uid, hash + i % OWNER_PROBES, i >= OWNER_PROBES);
		if (place != OWNER_UNKNOWN)
			return masked(place, OWNER_CNT - 1);
	}
	place = owner_place(hash, 0);
	t->shared[place] = 1;
	return place;
}

/* What one owner uses on the kernel side (sampling.h). All numbers only grow, except procs. */
struct owner_use {
	__u64 produced; /* bytes of the ring buffer that its records took; the kernel adds */
	__u64 consumed; /* the part of produced that user space has read; user space adds */
	__s64 procs; /* entries of the map procs; both add and subtract */
	__u64 procs_refused; /* entries that the kernel refused for lack of room */
	__u64 events_dropped; /* process events dropped for the same reason */
	__u64 samples_dropped; /* samples dropped: ring full */
	__u64 codes_dropped; /* snapshots of code objects dropped: ring full */
	/* User space sets them: no snapshot is wanted; and how deep stacks may be, 0: as all. */
	__u32 codes_closed, frames_max;
};

#define SHARE_PIDS 32768U

/* The one value of the map owners. */
struct owner_books {
	struct owner_table table;
	__s64 procs; /* sum of use[].procs */
	struct owner_use use[OWNER_CNT];
	/*
	 * By pids_place(): some process with such a pid has been in procs. Written before the
	 * entry, never cleared. So for most other processes the program at the scheduler's switch
	 * sees from one byte that there is nothing to do.
	 */
	__u8 pids[SHARE_PIDS];
};

static inline __u32 pids_place(__u32 pid)
{
	return pid % SHARE_PIDS;
}

/* What a record of that size takes up in the ring buffer: a header, and whole words. */
static inline __u64 share_ring_bytes(__u64 size)
{
	return 8 + ((size + 7) & ~7ULL);
}

/* An owner may hold this many times what is free. */
#define OWNER_WEIGHT 8
/*
 * This fraction is reserved for owners that hold no more than share_little(): together they cannot
 * need more.
 */
#define OWNER_KEEP 16

static inline __u64 share_little(__u64 total)
{
	__u64 little = total / (OWNER_KEEP * OWNER_CNT);

	return little ? little : 1;
}

/* What is free for this owner: for others than root, less what root's reserve still lacks. */
static inline __u64 share_free(__u32 owner, __u64 total, __u64 held_by_all, __u64 root_reserve,
			       __u64 held_by_root)
{
	__u64 kept = held_by_all;

	if (owner != OWNER_ROOT && held_by_root < root_reserve)
		kept += root_reserve - held_by_root;
	return kept < total ? total - kept : 0;
}

/* May an owner that holds `held` take n more, given what is free for it? */
static inline int share_allows(__u32 owner, __u64 held, __u64 n, __u64 total, __u64 free)
{
	__u64 keep = total / OWNER_KEEP;

	if (n > free)
		return 0;
	if (owner == OWNER_ROOT || held + n <= share_little(total))
		return 1;
	return n + keep <= free && held + n <= OWNER_WEIGHT * (free - keep - n);
}

#endif /* KRAIT_BPF_SHARE_H */
