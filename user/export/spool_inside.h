/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spool_inside.h - what the parts of the spool share: segments and groups of them, the index of records, cursors.
 *
 *	spool.c       records and cursors
 *	spool_room.c  segments: which one is written to, which ones go
 *	spool_load.c  what is there when it is opened
 */
#ifndef KRAIT_EXPORT_SPOOL_INSIDE_H
#define KRAIT_EXPORT_SPOOL_INSIDE_H

#include "export/spool_cursors.h"
#include "export/spool_format.h"

/* Of both groups; memory's follow the disk's. */
#define SEGMENT_CNT (2 * SPOOL_SEGMENTS)
#define SEGMENT_NOMINAL_MIN 65536U
#define IDS_KEPT 64U

struct spool_segment {
	int fd;
	bool used, dirty;
	__u64 number, mark, size;
};

struct spool_group {
	unsigned first; /* of SPOOL_SEGMENTS */
	int active; /* -1: none */
	__u64 limit, bytes;
};

struct spool {
	struct spool_segment segments[SEGMENT_CNT];
	struct spool_group disk, memory;
	struct spool_cursors cursors;
	struct spool_entry *entries; /* in the order of seq */
	size_t entry_cnt, entry_cap;
	__u64 next_seq, next_number;
	__u8 ids[IDS_KEPT][EXPORT_ID_SIZE]; /* of the last ones, a ring */
	unsigned id_at;
	struct spool_counts counts;
};

static inline struct spool_cursor *spool_cursor_of(struct spool *s, unsigned i)
{
	return &s->cursors.list[i];
}

/* It is still to be sent there. */
static inline bool spool_waits(const struct spool_cursor *c, const struct spool_entry *e)
{
	return c->in_use && c->kind == (enum export_kind)e->kind && e->seq >= c->next_seq;
}

static inline struct spool_group *spool_group_of(struct spool *s, unsigned segment)
{
	return segment < SPOOL_SEGMENTS ? &s->disk : &s->memory;
}

void spool_count_pending(struct spool_cursor *c, const struct spool_entry *e, bool more);
/* All that wait for it lose it. */
void spool_drop_entry(struct spool *s, const struct spool_entry *e);
void spool_remember_id(struct spool *s, const __u8 *id);

/* A segment of that group that may take so many bytes more becomes the active one. 0 or -errno. */
int spool_make_room(struct spool *s, struct spool_group *g, __u64 size)
	__attribute__((warn_unused_result));
/* Empties segments of which nobody waits for anything; those that are written to only where it is told to. */
void spool_reclaim(struct spool *s, bool active_too);
/* In the order of their numbers. Those of disk and memory are numbered as one. 0 or -ENOMEM. */
int spool_load_segments(struct spool *s) __attribute__((warn_unused_result));

#endif /* KRAIT_EXPORT_SPOOL_INSIDE_H */
