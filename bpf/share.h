/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * share.h - how much of something scarce one owner may hold: the same rule in the kernel and in user
 * space (user/util/quota.h).
 *
 * An owner is a bucket for the processes of one host uid; number 0 is root's. Root may take whatever is
 * free. All others together leave root a reserve. Of the rest each may hold at most OWNER_WEIGHT times
 * what is still free, so the owner that holds most is refused first, and one alone gets most of it. The
 * last part, a sixteenth, is for those who hold next to nothing: as many owners as there can be find
 * room for a little, however greedy the others are, and however many uids one attacker has.
 *
 * Must hold: nothing that others hold or take makes an owner lose what it holds.
 */
#ifndef KRAIT_SHARE_H
#define KRAIT_SHARE_H

#define OWNER_ROOT 0
/* A power of two; owner_place() counts on this one. */
#define OWNER_CNT 256
/* Places in the table that a uid may have. */
#define OWNER_PROBES 16

/* Maps uids to owners. The side that sees a uid first enters it. */
struct owner_table {
	__u32 uids[OWNER_CNT]; /* by owner; 0 not given out, and root */
	__u8 shared[OWNER_CNT]; /* other uids have the number, too */
};

static inline __u32 owner_place(__u32 uid, __u32 probe)
{
	__u32 place = ((uid * 2654435761U >> 24) + probe) & (OWNER_CNT - 1);

	/*
	 * 0 is root's: the last one. Without a branch, both ways of which the verifier would follow at each
	 * place: place - 1 has bits above the eighth only where it wraps.
	 */
	place |= (place - 1) >> 8 & (OWNER_CNT - 1);
#ifdef __bpf__
	/* The compiler knows that this is below OWNER_CNT; verifiers up to 6.1 do not, of an "or". */
	asm volatile("" : "+r"(place));
	place &= OWNER_CNT - 1;
#endif
	return place;
}

/*
 * The owner of a host uid. One that finds no place of its own shares one. No lock: where two uids are
 * entered at the same place in the same moment, one of them moves on to another place later.
 */
static inline __u32 owner_of(struct owner_table *t, __u32 uid)
{
	__u32 place;

	if (!uid)
		return OWNER_ROOT;
	for (__u32 probe = 0; probe < OWNER_PROBES; probe++) {
		place = owner_place(uid, probe);
		if (!t->uids[place])
			t->uids[place] = uid;
		if (t->uids[place] == uid)
			return place;
	}
	place = owner_place(uid, 0);
	t->shared[place] = 1;
	return place;
}

/* What one owner uses on the kernel side: see maps.h. All numbers only grow, except procs. */
struct owner_use {
	__u64 produced; /* bytes of the ring buffer that its records took; the kernel adds */
	__u64 consumed; /* of them what user space has read; user space adds */
	__s64 procs; /* entries of the map procs; both add and subtract */
	__u64 procs_refused; /* by the kernel, for want of room */
	__u64 events_dropped; /* process events, likewise */
	__u64 samples_dropped; /* samples, likewise: ring full */
	__u64 codes_dropped; /* snapshots of code objects, likewise */
	__u64 pad_;
};

#define SHARE_PIDS 32768U

/* The one value of the map owners. */
struct owner_books {
	struct owner_table table;
	__s64 procs; /* Σ use[].procs */
	struct owner_use use[OWNER_CNT];
	/*
	 * By pids_place(): a process with such a pid was in procs. Written before the entry is, never cleared: so that
	 * of most others a program at the scheduler's switch knows by one byte that there is nothing to do.
	 */
	__u8 pids[SHARE_PIDS];
};

static inline __u32 pids_place(__u32 pid)
{
	return pid % SHARE_PIDS;
}

/* What a record of that size takes up in the ring buffer: a header of its own, and whole words. */
static inline __u64 share_ring_bytes(__u64 size)
{
	return 8 + ((size + 7) & ~7ULL);
}

/* How many times what is free one owner may hold. */
#define OWNER_WEIGHT 8
/* Reserved for owners that hold no more than share_little(): together they cannot need more. */
#define OWNER_KEEP 16

static inline __u64 share_little(__u64 total)
{
	__u64 little = total / (OWNER_KEEP * OWNER_CNT);

	return little ? little : 1;
}

/* Free for this owner: of what there is, others than root leave out what root's reserve still lacks. */
static inline __u64 share_free(__u32 owner, __u64 total, __u64 held_by_all, __u64 root_reserve,
			       __u64 held_by_root)
{
	__u64 kept = held_by_all;

	if (owner != OWNER_ROOT && held_by_root < root_reserve)
		kept += root_reserve - held_by_root;
	return kept < total ? total - kept : 0;
}

/* May an owner that holds this much take n more of what is free for it? */
static inline int share_allows(__u32 owner, __u64 held, __u64 n, __u64 total, __u64 free)
{
	__u64 keep = total / OWNER_KEEP;

	if (n > free)
		return 0;
	if (owner == OWNER_ROOT || held + n <= share_little(total))
		return 1;
	return n + keep <= free && held + n <= OWNER_WEIGHT * (free - keep - n);
}

#endif /* KRAIT_SHARE_H */
