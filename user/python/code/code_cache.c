/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * code_cache.c - see code_cache.h.
 */
#include "python/code/code_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct code_entry *code_cache_find(const struct code_cache *cache, __u64 code_addr)
{
	struct code_entry *e;

	HASH_FIND_BYHASHVALUE(hh, cache->entries, &code_addr, sizeof(code_addr),
			      code_addr_hash(code_addr), e);
	return e;
}

static int append(struct code_cache *cache, struct code_entry *e)
{
	HASH_ADD_BYHASHVALUE(hh, cache->entries, code_addr, sizeof(e->code_addr),
			     code_addr_hash(e->code_addr), e);
	if (!e->hh.tbl)
		return -ENOMEM;
	cache->footprint += e->footprint;
	return 0;
}

static void take_out(struct code_cache *cache, struct code_entry *e)
{
	HASH_DEL(cache->entries, e);
	cache->footprint -= e->footprint;
}

static void forget(struct code_cache *cache, struct code_entry *e)
{
	take_out(cache, e);
	code_entry_free(e);
}

/* Evicts the oldest entry that has not been used since it was last considered here. */
static void evict(struct code_cache *cache)
{
	struct code_entry *e;

	for (e = cache->entries; e->used; e = cache->entries) {
		e->used = false;
		take_out(cache, e);
		if (append(cache, e)) {
			code_entry_free(e);
			return;
		}
	}
	forget(cache, e);
	cache->evictions++;
}

static bool is_full(const struct code_cache *cache, size_t footprint)
{
	return HASH_COUNT(cache->entries) >= CODE_CACHE_MAX ||
	       cache->footprint + footprint > CODE_CACHE_MAX_BYTES;
}

int code_cache_insert(struct code_cache *cache, struct code_entry *e)
{
	struct code_entry *old = code_cache_find(cache, e->code_addr);
	int err;

	if (old)
		forget(cache, old);
	e->footprint = sizeof(*e) + strlen(e->body.qualname) + strlen(e->body.filename) + 2 +
		       linetable_footprint(&e->body.lines);
	while (cache->entries && is_full(cache, e->footprint))
		evict(cache);
	e->serial = ++cache->last_serial;
	err = append(cache, e);
	if (err)
		code_entry_free(e);
	return err;
}

void code_cache_clear(struct code_cache *cache)
{
	struct code_entry *e, *next;

	HASH_ITER(hh, cache->entries, e, next)
		forget(cache, e);
}

void code_entry_free(struct code_entry *e)
{
	if (!e)
		return;
	code_body_deinit(&e->body);
	free(e);
}
