/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fault.h - which page faults of a thinned event become samples (record --memory), in the kernel and in user space.
 *
 * Pages are chosen, not faults: each fault of a chosen page is taken, so that the last one is known. Of each aligned group of
 * 2^shift pages one is chosen, at a place that depends on the group's number: a mapping of many groups has the same
 * share as any other, whatever distance a program keeps between the pages that it touches. A page that is chosen at a
 * shift is chosen at all smaller ones.
 *
 * One fault may bring a huge page, whichever of its pages it hits. So a fault is also taken if it is the first in its
 * region, as far as that is known: the pages of one table (2 MiB on x86).
 */
#ifndef KRAIT_BPF_FAULT_H
#define KRAIT_BPF_FAULT_H

#include "bpf/types.h"

#define FAULT_SHIFT_MAX 20

/*
 * Each process thins its own faults, so that none makes another's sample smaller. It may have a burst of faults, and one for
 * each tick after that; more, and half as many pages are chosen from then on. All 0 at first.
 */
#define FAULT_SHIFT_BEGIN 4
#define FAULT_BURST 8192
#define FAULT_RISE_ROOM 1024 /* after it has risen */
#define FAULT_TICK_SHIFT 20 /* 2^20 ns: 954 faults a second */

struct fault_budget {
	__u32 tick; /* when it was last used */
	__u16 used;
	__u8 rise; /* of the shift, above FAULT_SHIFT_BEGIN */
	__u8 pad_;
};

/* A fault is taken: of two CPUs at once one may be forgotten. */
static inline void fault_pay(struct fault_budget *b, __u64 now_ns)
{
	const __u32 tick = now_ns >> FAULT_TICK_SHIFT, past = tick - b->tick;
	__u32 used = b->used;

	used = (past < used ? used - past : 0) + 1;
	if (used > FAULT_BURST) {
		used = FAULT_BURST - FAULT_RISE_ROOM;
		if (b->rise < FAULT_SHIFT_MAX - FAULT_SHIFT_BEGIN)
			b->rise++;
	}
	b->used = used;
	b->tick = tick;
}

/* Four bits that depend on what lies above the four from there on. */
static inline __u64 fault_bits(__u64 page, __u32 from)
{
	__u64 x = (page >> (from + 4)) * 0x9e3779b97f4a7c15ULL;

	return ((x ^ x >> 32) * 0x9e3779b97f4a7c15ULL) >> 60 << from;
}

/* Bit i depends on bits i and up of the number: within a group the mapping is a permutation. */
static inline __u64 fault_mix(__u64 page)
{
	return page ^ fault_bits(page, 0) ^ fault_bits(page, 4) ^ fault_bits(page, 8) ^
	       fault_bits(page, 12) ^ fault_bits(page, 16);
}

static inline int fault_chooses(__u64 page, __u32 shift)
{
	return !(fault_mix(page) & ((1ULL << shift) - 1));
}

/* Could a page of its region, 2^region_shift pages, be chosen? */
static inline int fault_chooses_region(__u64 page, __u32 shift, __u32 region_shift)
{
	return !(fault_mix(page) & ((1ULL << shift) - 1) & ~((1ULL << region_shift) - 1));
}

/*
 * record_sample.period of such a sample. Pages have 52 bits at most: 64 without the 12 within a page.
 */
#define FAULT_CHOSEN (1 << 0) /* the page is a chosen one; else only its region is */
#define FAULT_FIRST (1 << 1) /* the first in its region */

static inline __u64 fault_note(__u64 page, __u32 shift, __u32 flags)
{
	return page << 12 | shift << 4 | flags;
}

static inline __u64 fault_page(__u64 note)
{
	return note >> 12;
}

static inline __u32 fault_shift_of(__u64 note)
{
	return note >> 4 & 31;
}

#endif /* KRAIT_BPF_FAULT_H */
