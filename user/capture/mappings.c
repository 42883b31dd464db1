/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/mappings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A process has some hundred; a hostile file may claim any number. */
#define MAX_MAPPINGS 65536

void mappings_free(struct mappings *m)
{
	free(m->list);
	*m = (struct mappings){ 0 };
}

int mappings_copy(struct mappings *to, const struct mappings *from)
{
	struct mapping *list = calloc(from->cnt + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	if (from->cnt)
		memcpy(list, from->list, from->cnt * sizeof(*list));
	free(to->list);
	*to = (struct mappings){ list, from->cnt, from->cnt + 1 };
	return 0;
}

/* Index of the first mapping that ends behind address. */
static unsigned first_behind(const struct mappings *m, __u64 address)
{
	unsigned low = 0, high = m->cnt;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		const struct mapping *at = &m->list[middle];

		if (at->start + at->size <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int mappings_add(struct mappings *m, const struct mapping *new)
{
	unsigned at, end;
	struct mapping *grown;

	if (!new->size || new->size > ~0ULL - new->start)
		return -EINVAL;
	at = end = first_behind(m, new->start);
	while (end < m->cnt && m->list[end].start < new->start + new->size)
		end++;
	if (m->cnt == MAX_MAPPINGS && at == end)
		return -E2BIG;
	if (m->cnt + 1 > m->cap) {
		grown = reallocarray(m->list, m->cap ? m->cap * 2 : 16, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		m->list = grown;
		m->cap = m->cap ? m->cap * 2 : 16;
	}
	memmove(&m->list[at + 1], &m->list[end], (m->cnt - end) * sizeof(*m->list));
	m->list[at] = *new;
	m->cnt = m->cnt - (end - at) + 1;
	return 0;
}

const struct mapping *mappings_find(const struct mappings *m, __u64 address)
{
	unsigned at = first_behind(m, address);

	return at < m->cnt && m->list[at].start <= address ? &m->list[at] : NULL;
}
