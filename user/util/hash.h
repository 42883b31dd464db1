/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hash.h - one step of a hash, for tables of this process: multiplication by 2^64 / phi (Knuth, Fibonacci
 * hashing).
 *
 * Must hold: the high bits are the good ones; whoever needs few takes those. What one process hashes into
 * its own tables costs its owner only, so it need not withstand keys that are chosen.
 */
#ifndef KRAIT_UTIL_HASH_H
#define KRAIT_UTIL_HASH_H

#include <linux/types.h>

static inline __u64 hash_step(__u64 hash, __u64 word)
{
	return (hash ^ word) * 0x9e3779b97f4a7c15ULL;
}

/* The high half of one step. */
static inline __u32 hash_word(__u64 word)
{
	return (__u32)(hash_step(0, word) >> 32);
}

#endif /* KRAIT_UTIL_HASH_H */
