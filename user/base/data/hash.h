/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hash.h - one step of a hash for tables in this process: multiplication by 2^64 / phi (Knuth,
 * Fibonacci hashing).
 *
 * Must hold: callers that need few bits take the high ones, which are mixed best. A process's keys
 * go only into its own owner's tables, so the hash need not withstand chosen keys.
 */
#ifndef KRAIT_BASE_DATA_HASH_H
#define KRAIT_BASE_DATA_HASH_H

#include <linux/types.h>

static inline __u64 hash_step(__u64 hash, __u64 word)
{
	return (hash ^ word) * 0x9e3779b97f4a7c15ULL;
}

/* Returns the high half of one step. */
static inline __u32 hash_word(__u64 word)
{
	return (__u32)(hash_step(0, word) >> 32);
}

#endif /* KRAIT_BASE_DATA_HASH_H */
