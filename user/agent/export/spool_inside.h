/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spool_inside.h - shared by the parts of the spool: segments and groups of them, the index of
 * records, cursors.
 *
 * 	spool.c       records and cursors
 * 	spool_room.c  segments: which one is written to, which ones go
 * 	spool_load.c  reading the files when it is opened
 */
#ifndef KRAIT_AGENT_EXPORT_SPOOL_INSIDE_H
#define KRAIT_AGENT_EXPORT_SPOOL_INSIDE_H

#include "agent/export/spool_cursors.h"
#include "agent/export/spool_format.h"

/* In both groups; those in memory follow those on disk. */
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
	struct spool_entry *entries; /* in order of seq */
	size_t entry_cnt, entry_cap;
	__u64 next_seq, next_number;
	__u8 ids[IDS_KEPT][EXPORT_ID_SIZE]; /* a ring of recent ones */
	unsigned id_at;
	struct spool_counts counts;
};

static inline struct spool_cursor *spool_cursor_of(struct spool *s, unsigned i)
{
	return &s->cursors.list[i];
}

/* Must it still be sent to that destination? */
static inline bool spool_waits(const struct spool_cursor *c, const struct spool_entry *e)
{
	return c->in_use && c->kind == (enum export_kind)e->kind && e->seq >= c->next_seq;
}

static inline struct spool_group *spool_group_of(struct spool *s, unsigned segment)
{
	return segment < SPOOL_SEGMENTS ? &s->disk : &s->memory;
}

/* Counts it as dropped for all cursors that wait for it. */
void spool_drop_entry(struct spool *s, const struct spool_entry *e);
void spool_remember_id(struct spool *s, const __u8 *id);

/* Makes a segment of that group active that has room for that many bytes. Returns 0 or -errno. */
int spool_make_room(struct spool *s, struct spool_group *g, __u64 size)
	__attribute__((warn_unused_result));
/* Empties segments in which no cursor waits for anything; active ones only if active_too. */
void spool_reclaim(struct spool *s, bool active_too);
/* In the order of their numbers, which are shared by disk and memory. Returns 0 or -ENOMEM. */
int spool_load_segments(struct spool *s) __attribute__((warn_unused_result));

#endif /* KRAIT_AGENT_EXPORT_SPOOL_INSIDE_H */
