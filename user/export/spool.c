/* SPDX-License-Identifier: BSD-2-Clause */
#include "export/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include "export/spool_cursors.h"
#include "export/spool_format.h"
#include "export/spool_scan.h"
#include "util/cleanup.h"
#include "util/vec.h"

/* Of both groups; memory's follow the disk's. */
#define SEGMENT_CNT (2 * SPOOL_SEGMENTS)
#define SEGMENT_NOMINAL_MIN 65536U
#define IDS_KEPT 64U

struct segment {
	int fd;
	bool used, dirty;
	__u64 number, mark, size;
};

struct group {
	unsigned first; /* of SPOOL_SEGMENTS */
	int active; /* -1: none */
	__u64 limit, bytes;
};

struct spool {
	struct segment segments[SEGMENT_CNT];
	struct group disk, memory;
	struct spool_cursors cursors;
	struct spool_entry *entries; /* in the order of seq */
	size_t entry_cnt, entry_cap;
	__u64 next_seq, next_number;
	__u8 ids[IDS_KEPT][EXPORT_ID_SIZE]; /* of the last ones, a ring */
	unsigned id_at;
	struct spool_counts counts;
};

/* ---- the index --------------------------------------------------------------------------------- */

static struct spool_cursor *cursor_of(struct spool *s, unsigned i)
{
	return &s->cursors.list[i];
}

static bool waits(const struct spool_cursor *c, const struct spool_entry *e)
{
	return c->key && c->kind == (enum export_kind)e->kind && e->seq >= c->next_seq;
}

static void count_pending(struct spool_cursor *c, const struct spool_entry *e, bool more)
{
	c->pending += more ? 1 : -1ULL;
	c->pending_samples += more ? e->samples : -e->samples;
	c->pending_bytes += more ? e->len : -(__u64)e->len;
}

/* All that wait for it lose it. */
static void drop_entry(struct spool *s, const struct spool_entry *e)
{
	for (unsigned i = 0; i < SPOOL_CURSORS_MAX; i++) {
		struct spool_cursor *c = cursor_of(s, i);

		if (!waits(c, e))
			continue;
		count_pending(c, e, false);
		c->dropped++;
		c->dropped_samples += e->samples;
	}
}

static void remember_id(struct spool *s, const __u8 *id)
{
	memcpy(s->ids[s->id_at++ % IDS_KEPT], id, EXPORT_ID_SIZE);
}

static bool is_known(const struct spool *s, const __u8 *id)
{
	static const __u8 none[EXPORT_ID_SIZE];

	if (!memcmp(id, none, sizeof(none)))
		return false;
	for (unsigned i = 0; i < IDS_KEPT; i++)
		if (!memcmp(s->ids[i], id, EXPORT_ID_SIZE))
			return true;
	return false;
}

/* The first one from seq on. */
static size_t entry_from(const struct spool *s, __u64 seq)
{
	size_t low = 0, high = s->entry_cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->entries[middle].seq < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- segments ---------------------------------------------------------------------------------- */

static struct group *group_of(struct spool *s, unsigned segment)
{
	return segment < SPOOL_SEGMENTS ? &s->disk : &s->memory;
}

static void empty_segment(struct spool *s, unsigned i)
{
	struct segment *seg = &s->segments[i];
	struct group *g = group_of(s, i);
	size_t kept = 0;

	for (size_t n = 0; n < s->entry_cnt; n++) {
		if (s->entries[n].segment == i)
			drop_entry(s, &s->entries[n]);
		else
			s->entries[kept++] = s->entries[n];
	}
	s->entry_cnt = kept;
	if (ftruncate(seg->fd, 0))
		s->counts.errors++;
	g->bytes -= seg->size;
	if (g->active == (int)i)
		g->active = -1;
	*seg = (struct segment){ .fd = seg->fd };
}

/* The oldest of a group, or -1. */
static int oldest_of(const struct spool *s, const struct group *g)
{
	int found = -1;

	for (unsigned i = g->first; i < g->first + SPOOL_SEGMENTS; i++) {
		if (s->segments[i].used &&
		    (found < 0 || s->segments[i].number < s->segments[found].number))
			found = (int)i;
	}
	return found;
}

static int unused_of(const struct spool *s, const struct group *g)
{
	for (unsigned i = g->first; i < g->first + SPOOL_SEGMENTS; i++)
		if (!s->segments[i].used && s->segments[i].fd >= 0)
			return (int)i;
	return -1;
}

/* Segments of which nobody waits for anything, but the one that is written to. */
static void reclaim(struct spool *s)
{
	bool needed[SEGMENT_CNT] = { false };

	for (size_t n = 0; n < s->entry_cnt; n++)
		for (unsigned c = 0; c < SPOOL_CURSORS_MAX; c++)
			if (waits(cursor_of(s, c), &s->entries[n]))
				needed[s->entries[n].segment] = true;
	for (unsigned i = 0; i < SEGMENT_CNT; i++)
		if (s->segments[i].used && !needed[i] && group_of(s, i)->active != (int)i)
			empty_segment(s, i);
}

static int begin_segment(struct spool *s, struct group *g)
{
	int i = unused_of(s, g), err;
	struct spool_segment_header h = { .number = s->next_number };
	struct segment *seg;

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
	*seg = (struct segment){ .fd = seg->fd,
				 .used = true,
				 .dirty = true,
				 .number = h.number,
				 .mark = h.mark,
				 .size = sizeof(h) };
	g->bytes += sizeof(h);
	g->active = i;
	return 0;
}

static bool has_room(const struct spool *s, const struct group *g, __u64 size)
{
	return g->bytes + size + sizeof(struct spool_segment_header) <= g->limit &&
	       (g->active >= 0 || unused_of(s, g) >= 0);
}

/* A segment that may take so many bytes more becomes the active one. */
static int make_room(struct spool *s, struct group *g, __u64 size)
{
	__u64 nominal = g->limit / SPOOL_SEGMENTS;
	const struct segment *active = g->active < 0 ? NULL : &s->segments[g->active];

	if (nominal < SEGMENT_NOMINAL_MIN)
		nominal = SEGMENT_NOMINAL_MIN;
	if (size + sizeof(struct spool_segment_header) > g->limit)
		return -ENOSPC;
	if (active && active->size >= nominal) {
		g->active = -1;
		reclaim(s);
	}
	if (!has_room(s, g, size))
		reclaim(s);
	while (!has_room(s, g, size)) {
		int oldest = oldest_of(s, g);

		if (oldest < 0)
			return -ENOSPC;
		empty_segment(s, (unsigned)oldest);
	}
	return g->active < 0 ? begin_segment(s, g) : 0;
}

/* ---- what is there ----------------------------------------------------------------------------- */

struct finding {
	struct spool *s;
	unsigned segment;
	int err;
};

static void take_found(void *ctx, const struct spool_record_header *h, __u64 offset)
{
	struct finding *f = ctx;
	struct spool *s = f->s;

	if (vec_reserve(s->entries, s->entry_cap, s->entry_cnt + 1)) {
		f->err = -ENOMEM;
		return;
	}
	s->entries[s->entry_cnt++] = (struct spool_entry){
		.seq = h->seq,
		.from_unix_ns = h->from_unix_ns,
		.samples = h->samples,
		.offset = offset,
		.len = spool_record_size(h),
		.segment = (__u16)f->segment,
		.kind = h->kind,
	};
	remember_id(s, h->id);
}

static int by_seq(const void *a, const void *b)
{
	const struct spool_entry *x = a, *y = b;

	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Disk and memory take turns, so their numbers do. One that is there twice is a copy that somebody has put there. */
static void order_entries(struct spool *s)
{
	size_t kept = 0;

	if (s->entry_cnt)
		qsort(s->entries, s->entry_cnt, sizeof(*s->entries), by_seq);
	for (size_t n = 0; n < s->entry_cnt; n++) {
		if (s->entries[n].seq < s->next_seq || s->entries[n].seq == ~0ULL) {
			s->counts.spoilt++;
			continue;
		}
		s->next_seq = s->entries[n].seq + 1;
		s->entries[kept++] = s->entries[n];
	}
	s->entry_cnt = kept;
}

static int load_segment(struct spool *s, unsigned i)
{
	struct segment *seg = &s->segments[i];
	struct finding finding = { .s = s, .segment = i };
	struct spool_scan scan = { .found = take_found, .ctx = &finding };
	int err = spool_scan_segment(&scan, seg->fd);

	if (err) {
		if (err != -ENOENT || ftruncate(seg->fd, 0))
			s->counts.errors++;
		return 0;
	}
	if (scan.torn) {
		s->counts.torn++;
		if (ftruncate(seg->fd, (off_t)scan.size))
			s->counts.errors++;
	}
	s->counts.spoilt += scan.spoilt;
	seg->used = true;
	seg->number = scan.header.number;
	seg->mark = scan.header.mark;
	seg->size = scan.size;
	group_of(s, i)->bytes += seg->size;
	group_of(s, i)->active = (int)i; /* the last one stays it */
	if (seg->number >= s->next_number)
		s->next_number = seg->number + 1;
	return finding.err;
}

struct order {
	__u64 number;
	unsigned segment;
};

static int by_number(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* In the order of their numbers. Those of disk and memory are numbered as one. */
static int load_segments(struct spool *s)
{
	struct order order[SEGMENT_CNT];
	unsigned cnt = 0;
	int err = 0;

	for (unsigned i = 0; i < SEGMENT_CNT; i++) {
		struct spool_segment_header h;

		if (s->segments[i].fd < 0)
			continue;
		order[cnt].number = spool_pread(s->segments[i].fd, &h, sizeof(h), 0) ? 0 : h.number;
		order[cnt++].segment = i;
	}
	qsort(order, cnt, sizeof(order[0]), by_number);
	for (unsigned i = 0; i < cnt && !err; i++)
		err = load_segment(s, order[i].segment);
	order_entries(s);
	return err;
}

struct spool *spool__open(const struct spool_files *files)
{
	struct spool *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->disk = (struct group){ .active = -1, .limit = files->disk_limit };
	s->memory = (struct group){ .first = SPOOL_SEGMENTS,
				    .active = -1,
				    .limit = files->memory_limit };
	for (unsigned i = 0; i < SPOOL_SEGMENTS; i++) {
		s->segments[i].fd = files->disk[i];
		s->segments[SPOOL_SEGMENTS + i].fd = files->memory[i];
	}
	s->next_seq = 1;
	s->next_number = 1;
	spool_cursors_load(&s->cursors, files->cursors);
	if (load_segments(s)) {
		free(s->entries);
		free(s);
		return NULL;
	}
	if (spool_cursors_last(&s->cursors) > s->next_seq)
		s->next_seq = spool_cursors_last(&s->cursors);
	return s;
}

void spool__close(struct spool *s)
{
	if (!s)
		return;
	spool__sync(s);
	free(s->entries);
	free(s);
}

/* ---- cursors ----------------------------------------------------------------------------------- */

int spool__cursor(struct spool *s, __u64 key, enum export_kind kind, const __u64 *all_keys,
		  unsigned key_cnt)
{
	int i = spool_cursors_find(&s->cursors, key);
	struct spool_cursor *c;

	if (i < 0) {
		__u64 from = spool_cursors_abandoned(&s->cursors, all_keys, key_cnt);

		if (!from)
			from = spool_cursors_last(&s->cursors) ? s->next_seq : 1;
		i = spool_cursors_take(&s->cursors, all_keys, key_cnt);
		if (i < 0)
			return -ENOSPC;
		c = cursor_of(s, (unsigned)i);
		*c = (struct spool_cursor){ .key = key,
					    .next_seq = from,
					    .generation = c->generation };
		if (spool_cursors_save(&s->cursors, (unsigned)i))
			s->counts.errors++;
	}
	c = cursor_of(s, (unsigned)i);
	c->kind = kind;
	c->pending = c->pending_samples = c->pending_bytes = 0;
	for (size_t n = entry_from(s, c->next_seq); n < s->entry_cnt; n++)
		if (waits(c, &s->entries[n]))
			count_pending(c, &s->entries[n], true);
	return i;
}

const struct spool_cursor *spool__cursor_at(const struct spool *s, int cursor)
{
	return &s->cursors.list[cursor];
}

static void move_on(struct spool *s, int cursor, const struct spool_entry *e)
{
	struct spool_cursor *c = cursor_of(s, (unsigned)cursor);
	__u64 next = e->seq + 1;

	c->next_seq = next;
	if (spool_cursors_save(&s->cursors, (unsigned)cursor))
		s->counts.errors++;
}

void spool__done(struct spool *s, int cursor, const struct spool_entry *e)
{
	struct spool_cursor *c = cursor_of(s, (unsigned)cursor);
	size_t at = entry_from(s, e->seq);

	if (e->seq < c->next_seq)
		return;
	if (at < s->entry_cnt && s->entries[at].seq == e->seq) {
		count_pending(c, e, false);
	} else {
		/* Dropped while it was on its way: it is not lost after all. */
		c->dropped--;
		c->dropped_samples -= e->samples;
	}
	move_on(s, cursor, e);
}

void spool__spoilt(struct spool *s, int cursor, const struct spool_entry *e)
{
	struct spool_cursor *c = cursor_of(s, (unsigned)cursor);

	if (!waits(c, e))
		return;
	s->counts.spoilt++;
	count_pending(c, e, false);
	c->dropped++;
	c->dropped_samples += e->samples;
	move_on(s, cursor, e);
}

/* ---- records ----------------------------------------------------------------------------------- */

static int write_record(struct spool *s, struct group *g, const struct spool_record_header *h,
			const struct spool_batch *b)
{
	static const char zeroes[8];
	struct segment *seg = &s->segments[g->active];
	__u32 size = spool_record_size(h);
	struct iovec parts[] = {
		{ (void *)h, sizeof(*h) },
		{ (void *)b->batch.query, h->query_len },
		{ (void *)b->batch.body, h->body_len },
		{ (void *)zeroes, size - sizeof(*h) - h->query_len - h->body_len },
	};
	__u64 at = seg->size;

	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int err = spool_pwrite(seg->fd, parts[i].iov_base, parts[i].iov_len, at);

		if (err) {
			if (ftruncate(seg->fd, (off_t)seg->size))
				s->counts.errors++;
			return err;
		}
		at += parts[i].iov_len;
	}
	return 0;
}

static int append_to(struct spool *s, struct group *g, struct spool_record_header *h,
		     const struct spool_batch *b)
{
	__u32 size = spool_record_size(h);
	struct segment *seg;
	int err = make_room(s, g, size);

	if (err)
		return err;
	if (vec_reserve(s->entries, s->entry_cap, s->entry_cnt + 1))
		return -ENOMEM;
	seg = &s->segments[g->active];
	h->mark = seg->mark;
	err = write_record(s, g, h, b);
	if (err)
		return err;
	s->entries[s->entry_cnt++] = (struct spool_entry){
		.seq = h->seq,
		.from_unix_ns = h->from_unix_ns,
		.samples = h->samples,
		.offset = seg->size,
		.len = size,
		.segment = (__u16)g->active,
		.kind = h->kind,
	};
	seg->size += size;
	seg->dirty = true;
	g->bytes += size;
	return 0;
}

static void count_appended(struct spool *s, const struct spool_record_header *h, bool held)
{
	const struct spool_entry e = {
		.seq = h->seq, .samples = h->samples, .kind = h->kind, .len = spool_record_size(h)
	};

	for (unsigned i = 0; i < SPOOL_CURSORS_MAX; i++)
		if (waits(cursor_of(s, i), &e))
			count_pending(cursor_of(s, i), &e, true);
	if (!held)
		drop_entry(s, &e);
}

int spool__append(struct spool *s, const struct spool_batch *b)
{
	size_t query_len = b->batch.query ? strlen(b->batch.query) : 0;
	struct spool_record_header h = {
		.seq = s->next_seq,
		.from_unix_ns = b->batch.from_unix_ns,
		.to_unix_ns = b->batch.to_unix_ns,
		.samples = b->batch.samples,
		.body_len = (__u32)b->batch.len,
		.raw_len = b->raw_len,
		.query_len = (__u16)query_len,
		.kind = (__u8)b->batch.kind,
		.gzip = b->gzip,
	};
	int err = -ENOSPC;

	if (query_len > EXPORT_QUERY_MAX || b->batch.len > EXPORT_BODY_MAX + 4096)
		return -EMSGSIZE;
	if (is_known(s, b->batch.id))
		return 0;
	memcpy(h.id, b->batch.id, sizeof(h.id));
	spool_record_seal(&h, b->batch.query ? b->batch.query : "", b->batch.body);
	s->next_seq++;
	if (s->disk.limit) {
		err = append_to(s, &s->disk, &h, b);
		if (err)
			s->counts.errors++;
		s->counts.disk_full = err != 0;
	}
	if (err)
		err = append_to(s, &s->memory, &h, b);
	remember_id(s, h.id);
	count_appended(s, &h, !err);
	return err;
}

const struct spool_entry *spool__next(const struct spool *s, int cursor)
{
	const struct spool_cursor *c = &s->cursors.list[cursor];

	if (!c->pending)
		return NULL;
	for (size_t n = entry_from(s, c->next_seq); n < s->entry_cnt; n++)
		if (waits(c, &s->entries[n]))
			return &s->entries[n];
	return NULL;
}

int spool__read(struct spool *s, const struct spool_entry *e, struct spool_batch *ret,
		void **buffer)
{
	const struct segment *seg = &s->segments[e->segment];
	cleanup_free char *data = malloc((size_t)e->len + 1);
	struct spool_record_header h;
	char *query;

	if (!data)
		return -ENOMEM;
	if (e->len < sizeof(h) || spool_pread(seg->fd, data, e->len, e->offset))
		return -EBADMSG;
	memcpy(&h, data, sizeof(h));
	query = data + sizeof(h);
	if (!spool_record_is_good(&h, seg->mark) || spool_record_size(&h) != e->len ||
	    h.seq != e->seq || !spool_body_is_good(&h, query))
		return -EBADMSG;
	/* The query ends with a zero that takes the header's last byte: both move up by one. */
	memmove(query - 1, query, h.query_len);
	query[-1 + h.query_len] = '\0';
	*ret = (struct spool_batch){
		.batch = { .kind = h.kind,
			   .from_unix_ns = h.from_unix_ns,
			   .to_unix_ns = h.to_unix_ns,
			   .samples = h.samples,
			   .query = h.query_len ? query - 1 : NULL,
			   .body = query + h.query_len,
			   .len = h.body_len },
		.raw_len = h.raw_len,
		.gzip = h.gzip,
	};
	memcpy(ret->batch.id, h.id, sizeof(h.id));
	*buffer = take_ptr(&data);
	return 0;
}

void spool__sync(struct spool *s)
{
	for (unsigned i = 0; i < SPOOL_SEGMENTS; i++) {
		struct segment *seg = &s->segments[i];

		if (seg->used && seg->dirty && fdatasync(seg->fd))
			s->counts.errors++;
		seg->dirty = false;
	}
}

void spool__counts(const struct spool *s, struct spool_counts *ret)
{
	*ret = s->counts;
	ret->memory_bytes = s->memory.bytes;
	ret->bytes = s->disk.bytes + s->memory.bytes;
}
