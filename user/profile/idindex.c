/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * idindex.c - open addressing with linear probing; doubles at half full.
 */
#include "profile/idindex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/hash.h"

/* Slots of a new index: 2 KiB, enough for a small profile without growing. */
#define IDINDEX_MIN_SLOTS 256

static void put(struct idindex_slot *slots, __u32 mask, struct idindex_slot entry)
{
	__u32 at = entry.hash & mask;

	while (slots[at].id)
		at = (at + 1) & mask;
	slots[at] = entry;
}

int idindex_reserve(struct idindex *x)
{
	size_t cnt = x->slots ? (size_t)x->mask + 1 : 0;
	size_t new_cnt = cnt ? cnt * 2 : IDINDEX_MIN_SLOTS, i;
	struct idindex_slot *slots;

	if ((size_t)x->used * 2 < cnt)
		return 0;
	if (new_cnt > 1UL << 31)
		return -ENOMEM;
	slots = calloc(new_cnt, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (i = 0; i < cnt; i++)
		if (x->slots[i].id)
			put(slots, (__u32)(new_cnt - 1), x->slots[i]);
	free(x->slots);
	x->slots = slots;
	x->mask = (__u32)(new_cnt - 1);
	return 0;
}

void idindex_insert(struct idindex *x, __u32 hash, __u32 id)
{
	put(x->slots, x->mask, (struct idindex_slot){ .hash = hash, .id = id });
	x->used++;
}

void idindex_free(struct idindex *x)
{
	free(x->slots);
	memset(x, 0, sizeof(*x));
}

void idindex_clear(struct idindex *x, __u32 cnt)
{
	size_t now = x->slots ? (size_t)x->mask + 1 : 0, wanted = IDINDEX_MIN_SLOTS;
	struct idindex_slot *slots = NULL;

	while (wanted < (size_t)cnt * 2)
		wanted *= 2;
	if (wanted < now)
		slots = calloc(wanted, sizeof(*slots));
	if (slots) {
		free(x->slots);
		x->slots = slots;
		x->mask = (__u32)(wanted - 1);
	} else if (now) {
		memset(x->slots, 0, now * sizeof(*x->slots));
	}
	x->used = 0;
}

static __u64 mix(__u64 h, __u64 word)
{
	h = hash_step(h, word);
	return h ^ h >> 29;
}

__u32 idindex_hash_bytes(const void *data, size_t len, __u64 seed)
{
	const char *p = data;
	__u64 h = mix(seed, len), word;

	for (; len >= sizeof(word); len -= sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = mix(h, word);
	}
	word = 0;
	if (len)
		memcpy(&word, p, len);
	h = mix(mix(h, word), seed);
	return (__u32)(h >> 32) ^ (__u32)h;
}
