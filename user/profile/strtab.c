/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtab.c - string interning: bytes in blocks that never move, an index over them.
 */
#include "profile/strtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define STRTAB_BLOCK_BYTES (64UL << 10)
#define STRTAB_MIN_CAP 256U

struct strtab_block {
	struct strtab_block *next;
	size_t used, size;
	char bytes[];
};

int strtab_init(struct strtab *t)
{
	memset(t, 0, sizeof(*t));
	/* Without randomness the seed is 0: maybe slower, never wrong. */
	if (getrandom(&t->seed, sizeof(t->seed), GRND_NONBLOCK) < 0)
		t->seed = 0;
	t->texts = calloc(STRTAB_MIN_CAP, sizeof(*t->texts));
	t->owners = calloc(STRTAB_MIN_CAP, sizeof(*t->owners));
	if (!t->texts || !t->owners)
		return -ENOMEM;
	t->cap = STRTAB_MIN_CAP;
	t->texts[0] = "";
	t->cnt = 1;
	return 0;
}

void strtab_free(struct strtab *t)
{
	struct strtab_block *b, *next;

	for (b = t->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	free(t->texts);
	free(t->owners);
	idindex_free(&t->index);
	memset(t, 0, sizeof(*t));
}

static char *store(struct strtab *t, const char *text, size_t len)
{
	struct strtab_block *b = t->blocks;
	size_t size;
	char *copy;

	if (!b || b->size - b->used < len + 1) {
		size = len + 1 > STRTAB_BLOCK_BYTES ? len + 1 : STRTAB_BLOCK_BYTES;
		b = malloc(sizeof(*b) + size);
		if (!b)
			return NULL;
		b->used = 0;
		b->size = size;
		b->next = t->blocks;
		t->blocks = b;
	}
	copy = b->bytes + b->used;
	memcpy(copy, text, len);
	copy[len] = '\0';
	b->used += len + 1;
	return copy;
}

static int grow(struct strtab *t)
{
	const char **texts;
	__u8 *owners;

	if (t->cnt < t->cap)
		return 0;
	texts = reallocarray(t->texts, (size_t)t->cap * 2, sizeof(*texts));
	if (!texts)
		return -ENOMEM;
	t->texts = texts;
	owners = reallocarray(t->owners, (size_t)t->cap * 2, sizeof(*owners));
	if (!owners)
		return -ENOMEM;
	t->owners = owners;
	t->cap *= 2;
	return 0;
}

static __u32 find(const struct strtab *t, const char *text, size_t len, __u32 hash)
{
	const struct idindex_slot *slot;

	idindex_for_each(&t->index, hash, slot)
		if (!strncmp(t->texts[slot->id], text, len) && !t->texts[slot->id][len])
			return slot->id;
	return 0;
}

__u32 strtab_find(const struct strtab *t, const char *text, size_t len)
{
	return len ? find(t, text, len, idindex_hash_bytes(text, len, t->seed)) : 0;
}

__u32 strtab_add(struct strtab *t, const char *text, size_t len, unsigned owner)
{
	__u32 hash, id;
	char *copy;

	if (!len)
		return 0;
	hash = idindex_hash_bytes(text, len, t->seed);
	id = find(t, text, len, hash);
	if (id)
		return id;
	if (grow(t) || idindex_reserve(&t->index))
		return 0;
	copy = store(t, text, len);
	if (!copy)
		return 0;
	t->texts[t->cnt] = copy;
	t->owners[t->cnt] = (__u8)owner;
	idindex_insert(&t->index, hash, t->cnt);
	return t->cnt++;
}

const char *strtab_text(const struct strtab *t, __u32 id)
{
	return id < t->cnt ? t->texts[id] : "";
}
