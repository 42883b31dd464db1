/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/perfdata/announced_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/space/modules.h"
#include "process/space/space.h"
#include "base/data/search.h"
#include "base/data/vec.h"

/* Size of a record without the name. */
#define RECORD_BYTES 112

void announced_maps_free(struct announced_maps *a)
{
	free(a->list);
	*a = (struct announced_maps){ .list = NULL };
}

void announced_maps_clear(struct announced_maps *a)
{
	a->cnt = 0;
}

/* The first one that ends after addr. */
static unsigned place_of(const struct announced_maps *a, __u64 addr)
{
	return (unsigned)sorted_below(a->cnt, i, a->list[i].end <= addr);
}

static bool is_written(const struct mapping *e, const struct mapping *m)
{
	return e->start == m->start && e->end == m->end && e->offset == m->offset &&
	       e->module == m->module;
}

static bool has_room(struct announced_maps *a, struct announced_total *total, size_t bytes)
{
	__u64 left = total->bytes < ANNOUNCED_ALL_BYTES ? ANNOUNCED_ALL_BYTES - total->bytes : 0;

	if (a->bytes + bytes <= ANNOUNCED_PROCESS_BYTES &&
	    a->bytes + bytes <= left / ANNOUNCED_PART)
		return true;
	total->cut++;
	total->cut_processes += !a->cut;
	a->cut = true;
	return false;
}

/* Replaces those that it overlaps, from first up to last. */
static int put(struct announced_maps *a, unsigned first, unsigned last, const struct mapping *m)
{
	if (first == last && vec_reserve(a->list, a->cap, a->cnt + 1))
		return -ENOMEM;
	memmove(&a->list[first + 1], &a->list[last], (a->cnt - last) * sizeof(*a->list));
	a->cnt += 1 - (last - first);
	a->list[first] = *m;
	return 1;
}

int announced_maps_add(struct announced_maps *a, struct announced_total *total,
		       const struct mapping *m)
{
	unsigned first = place_of(a, m->start), last = first;
	size_t bytes = RECORD_BYTES + strlen(module__name(m->module));

	if (first < a->cnt && is_written(&a->list[first], m))
		return 0;
	if (!has_room(a, total, bytes))
		return 0;
	while (last < a->cnt && a->list[last].start < m->end)
		last++;
	a->bytes += bytes;
	total->bytes += bytes;
	return put(a, first, last, m);
}
