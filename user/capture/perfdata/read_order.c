/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/perfdata/read_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/vec.h"

/* What a small record takes beside its bytes. */
#define OVERHEAD (sizeof(struct ordered) + 2 * sizeof(void *))

void read_order_free(struct read_order *o)
{
	for (size_t i = 0; i < o->cnt; i++)
		free(o->heap[i].record);
	free(o->heap);
	free(o->given);
	*o = (struct read_order){ 0 };
}

static bool is_before(const struct ordered *a, const struct ordered *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->number < b->number;
}

int read_order_put(struct read_order *o, const void *record, size_t size, __u64 time_ns)
{
	struct ordered new = { time_ns, o->number++, malloc(size), size };
	size_t at = o->cnt;

	if (!new.record || vec_reserve(o->heap, o->cap, o->cnt + 1)) {
		free(new.record);
		return -ENOMEM;
	}
	memcpy(new.record, record, size);
	for (; at && is_before(&new, &o->heap[(at - 1) / 2]); at = (at - 1) / 2)
		o->heap[at] = o->heap[(at - 1) / 2];
	o->heap[at] = new;
	o->cnt++;
	o->bytes += size + OVERHEAD;
	if (time_ns > o->last_ns)
		o->last_ns = time_ns;
	return 0;
}

void read_order_round(struct read_order *o)
{
	o->due_ns = o->round_ns;
	o->round_ns = o->last_ns;
}

void read_order_end(struct read_order *o)
{
	o->ended = true;
}

/* Takes the first out of the heap. */
static struct ordered take_first(struct read_order *o)
{
	const struct ordered first = o->heap[0], last = o->heap[--o->cnt];
	size_t at = 0, next;

	while ((next = 2 * at + 1) < o->cnt) {
		if (next + 1 < o->cnt && is_before(&o->heap[next + 1], &o->heap[next]))
			next++;
		if (is_before(&last, &o->heap[next]))
			break;
		o->heap[at] = o->heap[next];
		at = next;
	}
	o->heap[at] = last;
	return first;
}

const __u8 *read_order_take(struct read_order *o, size_t *ret_size)
{
	struct ordered first;

	free(o->given);
	o->given = NULL;
	if (!o->cnt ||
	    (!o->ended && o->bytes <= READ_ORDER_BYTES && o->heap[0].time_ns > o->due_ns))
		return NULL;
	first = take_first(o);
	o->bytes -= first.size + OVERHEAD;
	o->given = first.record;
	*ret_size = first.size;
	return first.record;
}
