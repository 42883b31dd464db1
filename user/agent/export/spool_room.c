/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/export/spool_inside.h"

#include <errno.h>
#include <sys/random.h>
#include <unistd.h>

static void empty_segment(struct spool *s, unsigned i)
{
	struct spool_segment *seg = &s->segments[i];
	struct spool_group *g = spool_group_of(s, i);
	size_t kept = 0;

	for (size_t n = 0; n < s->entry_cnt; n++) {
		if (s->entries[n].segment == i)
			spool_drop_entry(s, &s->entries[n]);
		else
			s->entries[kept++] = s->entries[n];
	}
	s->entry_cnt = kept;
	if (ftruncate(seg->fd, 0))
		s->counts.errors++;
	g->bytes -= seg->size;
	if (g->active == (int)i)
		g->active = -1;
	*seg = (struct spool_segment){ .fd = seg->fd };
}

/* The oldest segment of a group, or -1. */
static int oldest_of(const struct spool *s, const struct spool_group *g)
{
	int found = -1;

	for (unsigned i = g->first; i < g->first + SPOOL_SEGMENTS; i++) {
		if (s->segments[i].used &&
		    (found < 0 || s->segments[i].number < s->segments[found].number))
			found = (int)i;
	}
	return found;
}

static int unused_of(const struct spool *s, const struct spool_group *g)
{
	for (unsigned i = g->first; i < g->first + SPOOL_SEGMENTS; i++)
		if (!s->segments[i].used && s->segments[i].fd >= 0)
			return (int)i;
	return -1;
}

void spool_reclaim(struct spool *s, bool active_too)
{
	bool needed[SEGMENT_CNT] = { false };

	for (size_t n = 0; n < s->entry_cnt; n++)
		for (unsigned c = 0; c < SPOOL_CURSORS_MAX; c++)
			if (spool_waits(spool_cursor_of(s, c), &s->entries[n]))
				needed[s->entries[n].segment] = true;
	for (unsigned i = 0; i < SEGMENT_CNT; i++)
		if (s->segments[i].used && !needed[i] &&
		    (active_too || spool_group_of(s, i)->active != (int)i))
			empty_segment(s, i);
}

static int begin_segment(struct spool *s, struct spool_group *g)
{
	int i = unused_of(s, g), err;
	struct spool_segment_header h = { .number = s->next_number };
	struct spool_segment *seg;

	if (i < 0)
		return -ENOSPC;
	seg = &s->segments[i];
	if (getrandom(&h.mark, sizeof(h.mark), 0) != sizeof(h.mark))
		return -EIO;
	spool_segment_seal(&h);
	err = spool_pwrite(seg->fd, &h, sizeof(h), 0);
	if (err) {
		if (ftruncate(seg->fd, 0))
			s->counts.errors++;
		return err;
	}
	s->next_number++;
	*seg = (struct spool_segment){ .fd = seg->fd,
				       .used = true,
				       .dirty = true,
				       .number = h.number,
				       .mark = h.mark,
				       .size = sizeof(h) };
	g->bytes += sizeof(h);
	g->active = i;
	return 0;
}

static bool has_room(const struct spool *s, const struct spool_group *g, __u64 size)
{
	return g->bytes + size + sizeof(struct spool_segment_header) <= g->limit &&
	       (g->active >= 0 || unused_of(s, g) >= 0);
}

int spool_make_room(struct spool *s, struct spool_group *g, __u64 size)
{
	__u64 nominal = g->limit / SPOOL_SEGMENTS;
	const struct spool_segment *active = g->active < 0 ? NULL : &s->segments[g->active];

	if (nominal < SEGMENT_NOMINAL_MIN)
		nominal = SEGMENT_NOMINAL_MIN;
	if (size + sizeof(struct spool_segment_header) > g->limit)
		return -ENOSPC;
	if (active && active->size >= nominal) {
		g->active = -1;
		spool_reclaim(s, false);
	}
	if (!has_room(s, g, size))
		spool_reclaim(s, false);
	while (!has_room(s, g, size)) {
		int oldest = oldest_of(s, g);

		if (oldest < 0)
			return -ENOSPC;
		empty_segment(s, (unsigned)oldest);
	}
	return g->active < 0 ? begin_segment(s, g) : 0;
}
