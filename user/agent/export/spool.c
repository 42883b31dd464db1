/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/export/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/export/spool_inside.h"
#include "base/data/cleanup.h"
#include "base/data/search.h"
#include "base/data/vec.h"

/* ---- the index --------------------------------------------------------------------------------- */

static void count_pending(struct spool_cursor *c, const struct spool_entry *e, bool more)
{
	c->pending += more ? 1 : -1ULL;
	c->pending_samples += more ? e->samples : -e->samples;
	c->pending_bytes += more ? e->len : -(__u64)e->len;
}

void spool_drop_entry(struct spool *s, const struct spool_entry *e)
{
	for (unsigned i = 0; i < SPOOL_CURSORS_MAX; i++) {
		struct spool_cursor *c = spool_cursor_of(s, i);

		if (!spool_waits(c, e))
			continue;
		count_pending(c, e, false);
		c->dropped++;
		c->dropped_samples += e->samples;
	}
}

void spool_remember_id(struct spool *s, const __u8 *id)
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

/* Index of the first entry from seq on. */
static size_t entry_from(const struct spool *s, __u64 seq)
{
	return sorted_below(s->entry_cnt, i, s->entries[i].seq < seq);
}

/* ---- life -------------------------------------------------------------------------------------- */

struct spool *spool__open(const struct spool_files *files)
{
	struct spool *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->disk = (struct spool_group){ .active = -1, .limit = files->disk_limit };
	s->memory = (struct spool_group){ .first = SPOOL_SEGMENTS,
					  .active = -1,
					  .limit = files->memory_limit };
	for (unsigned i = 0; i < SPOOL_SEGMENTS; i++) {
		s->segments[i].fd = files->disk[i];
		s->segments[SPOOL_SEGMENTS + i].fd = files->memory[i];
	}
	s->next_seq = 1;
	s->next_number = 1;
	spool_cursors_load(&s->cursors, files->cursors);
	if (spool_load_segments(s)) {
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
		__u64 from = spool_cursors_last(&s->cursors) ? s->next_seq : 1;

		i = spool_cursors_abandoned(&s->cursors, all_keys, key_cnt);
		if (i >= 0)
			from = spool_cursor_of(s, (unsigned)i)->next_seq;
		else
			i = spool_cursors_free(&s->cursors);
		if (i < 0)
			return -ENOSPC;
		c = spool_cursor_of(s, (unsigned)i);
		c->key = key;
		c->next_seq = from;
		if (spool_cursors_save(&s->cursors, (unsigned)i))
			s->counts.errors++;
	}
	c = spool_cursor_of(s, (unsigned)i);
	c->kind = kind;
	c->in_use = true;
	c->pending = c->pending_samples = c->pending_bytes = 0;
	for (size_t n = entry_from(s, c->next_seq); n < s->entry_cnt; n++)
		if (spool_waits(c, &s->entries[n]))
			count_pending(c, &s->entries[n], true);
	return i;
}

const struct spool_cursor *spool__cursor_at(const struct spool *s, int cursor)
{
	return &s->cursors.list[cursor];
}

static void move_on(struct spool *s, int cursor, const struct spool_entry *e)
{
	struct spool_cursor *c = spool_cursor_of(s, (unsigned)cursor);
	__u64 next = e->seq + 1;

	c->next_seq = next;
	if (spool_cursors_save(&s->cursors, (unsigned)cursor))
		s->counts.errors++;
}

void spool__done(struct spool *s, int cursor, const struct spool_entry *e)
{
	struct spool_cursor *c = spool_cursor_of(s, (unsigned)cursor);
	size_t at = entry_from(s, e->seq);

	if (e->seq < c->next_seq)
		return;
	if (at < s->entry_cnt && s->entries[at].seq == e->seq) {
		count_pending(c, e, false);
	} else {
		/* It was dropped while it was being sent: it is not lost after all. */
		c->dropped--;
		c->dropped_samples -= e->samples;
	}
	move_on(s, cursor, e);
}

void spool__spoilt(struct spool *s, int cursor, const struct spool_entry *e)
{
	struct spool_cursor *c = spool_cursor_of(s, (unsigned)cursor);

	if (!spool_waits(c, e))
		return;
	s->counts.spoilt++;
	count_pending(c, e, false);
	c->dropped++;
	c->dropped_samples += e->samples;
	move_on(s, cursor, e);
}

/* ---- records ----------------------------------------------------------------------------------- */

static int write_record(struct spool *s, struct spool_group *g, const struct spool_record_header *h,
			const struct spool_batch *b)
{
	static const char zeroes[8];
	struct spool_segment *seg = &s->segments[g->active];
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

static int append_to(struct spool *s, struct spool_group *g, struct spool_record_header *h,
		     const struct spool_batch *b)
{
	__u32 size = spool_record_size(h);
	struct spool_segment *seg;
	int err = spool_make_room(s, g, size);

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

/* A full disk may have room once delivered data is deleted, even from the segment being written. */
static int append_to_disk(struct spool *s, struct spool_record_header *h,
			  const struct spool_batch *b)
{
	__u64 bytes = s->disk.bytes;
	int err = append_to(s, &s->disk, h, b);

	if (!err)
		return 0;
	s->counts.errors++;
	spool_reclaim(s, true);
	return s->disk.bytes < bytes ? append_to(s, &s->disk, h, b) : err;
}

static void count_appended(struct spool *s, const struct spool_record_header *h, bool held)
{
	const struct spool_entry e = {
		.seq = h->seq, .samples = h->samples, .kind = h->kind, .len = spool_record_size(h)
	};

	for (unsigned i = 0; i < SPOOL_CURSORS_MAX; i++)
		if (spool_waits(spool_cursor_of(s, i), &e))
			count_pending(spool_cursor_of(s, i), &e, true);
	if (!held)
		spool_drop_entry(s, &e);
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
		err = append_to_disk(s, &h, b);
		s->counts.disk_full = err != 0;
	}
	if (err)
		err = append_to(s, &s->memory, &h, b);
	spool_remember_id(s, h.id);
	count_appended(s, &h, !err);
	return err;
}

void spool__in_memory(const struct spool *s, int cursor, __u64 *ret_batches, __u64 *ret_samples)
{
	const struct spool_cursor *c = &s->cursors.list[cursor];

	*ret_batches = *ret_samples = 0;
	for (size_t n = entry_from(s, c->next_seq); n < s->entry_cnt; n++) {
		if (s->entries[n].segment < SPOOL_SEGMENTS || !spool_waits(c, &s->entries[n]))
			continue;
		++*ret_batches;
		*ret_samples += s->entries[n].samples;
	}
}

const struct spool_entry *spool__next(const struct spool *s, int cursor)
{
	const struct spool_cursor *c = &s->cursors.list[cursor];

	if (!c->pending)
		return NULL;
	for (size_t n = entry_from(s, c->next_seq); n < s->entry_cnt; n++)
		if (spool_waits(c, &s->entries[n]))
			return &s->entries[n];
	return NULL;
}

int spool__read(struct spool *s, const struct spool_entry *e, struct spool_batch *ret,
		void **buffer)
{
	const struct spool_segment *seg = &s->segments[e->segment];
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
	/*
	 * The query needs a terminating zero, which would overwrite the header's last byte: move it
	 * up by one.
	 */
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
		struct spool_segment *seg = &s->segments[i];

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
