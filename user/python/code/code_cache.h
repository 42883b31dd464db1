/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * code_cache.h - code objects that were read, by address, in bounded memory.
 *
 * Owns the entries and decides which ones go; does not know when an entry may be used. Eviction is
 * second chance in order of arrival: as good as least recently used here, and a use costs one
 * store.
 */
#ifndef KRAIT_PYTHON_CODE_CODE_CACHE_H
#define KRAIT_PYTHON_CODE_CODE_CACHE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* Out of memory leaves the element out instead of ending the program. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "python/code/code_object.h"
#include "python/code/linetable.h"
#include "base/data/hash.h"

/* More than any program seen so far (Django with 6000 modules has about 50000). */
#define CODE_CACHE_MAX 65536
/* An entry takes about 0.5 KB; the rest is for generated code with line tables of up to 4 MiB. */
#define CODE_CACHE_MAX_BYTES (128u << 20)

struct code_entry {
	__u64 code_addr; /* the key */
	__u64 serial; /* assigned by the cache, never reused */
	struct code_head head;
	struct code_body body;
	bool used; /* since it was inserted; set by the caller that uses it */

	/* The rest belongs to the code reader and the symbolizer; the cache does not look at it. */
	__u64 interp_addr; /* whose generations these are; 0: none */
	/* Queries in [first, end) are proved; later ones need a look, earlier ones are stale. */
	__u64 first_generation, end_generation;
	/* The last answer: frames further down keep their position for many samples. */
	__s32 last_instr_off;
	struct source_position last_position;
	__u64 tag; /* the consumer's */
	unsigned roles; /* enum code_role (symbolizer.h) */

	size_t footprint;
	UT_hash_handle hh;
};

struct code_cache {
	struct code_entry *entries; /* hash table and list, oldest first */
	size_t footprint;
	__u64 last_serial;
	__u64 evictions;
};

struct code_entry *code_cache_find(const struct code_cache *cache, __u64 code_addr);

/*
 * Takes over e (from calloc), on failure, too; replaces an entry with the same address. Returns 0
 * or -ENOMEM. Any other entry may be gone afterwards.
 */
int code_cache_insert(struct code_cache *cache, struct code_entry *e)
	__attribute__((warn_unused_result));

void code_cache_clear(struct code_cache *cache);
void code_entry_free(struct code_entry *e);

/* Spreads addresses, whose low bits vary little. */
static inline __u32 code_addr_hash(__u64 addr)
{
	return hash_word(addr >> 4);
}

#endif /* KRAIT_PYTHON_CODE_CODE_CACHE_H */
