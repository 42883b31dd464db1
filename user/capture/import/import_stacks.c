/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/import/import_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/hash.h"

void import_stacks_free(struct import_stacks *s)
{
	for (__u32 i = 0; s->places && i < IMPORT_STACKS_PLACES; i++)
		free(s->places[i].chain);
	free(s->places);
	s->places = NULL;
}

void import_stacks_clear(struct import_stacks *s)
{
	if (++s->epoch)
		return;
	/* All epoch numbers have been used once. */
	for (__u32 i = 0; s->places && i < IMPORT_STACKS_PLACES; i++)
		s->places[i].node = 0;
}

static struct import_stack *place_of(const struct import_stacks *s, __u32 thread,
				     const __u64 *chain, unsigned cnt)
{
	__u64 hash = thread;

	for (unsigned i = 0; i < cnt; i++)
		hash = hash_step(hash, chain[i]);
	return &s->places[(hash >> 32) % IMPORT_STACKS_PLACES];
}

__u32 import_stacks_find(const struct import_stacks *s, __u32 thread, const __u64 *chain,
			 unsigned cnt)
{
	const struct import_stack *p;

	if (!s->places || cnt > IMPORT_STACKS_DEPTH)
		return 0;
	p = place_of(s, thread, chain, cnt);
	if (p->epoch != s->epoch || p->thread != thread || p->cnt != cnt ||
	    memcmp(p->chain, chain, cnt * sizeof(*chain)))
		return 0;
	return p->node;
}

void import_stacks_put(struct import_stacks *s, __u32 thread, const __u64 *chain, unsigned cnt,
		       __u32 node)
{
	struct import_stack *p;
	__u64 *grown;

	if (!cnt || cnt > IMPORT_STACKS_DEPTH)
		return;
	if (!s->places)
		s->places = calloc(IMPORT_STACKS_PLACES, sizeof(*s->places));
	if (!s->places)
		return;
	p = place_of(s, thread, chain, cnt);
	p->cnt = 0;
	if (cnt > p->cap) {
		grown = reallocarray(p->chain, cnt, sizeof(*grown));
		if (!grown)
			return;
		p->chain = grown;
		p->cap = cnt;
	}
	memcpy(p->chain, chain, cnt * sizeof(*chain));
	p->cnt = cnt;
	p->thread = thread;
	p->node = node;
	p->epoch = s->epoch;
}
