/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "agent/export/spool_format.h"
#include "agent/export/spool_inside.h"
#include "base/data/cleanup.h"
#include "base/data/compare.h"
#include "base/data/vec.h"

/* ---- spool scan ------------------------------------------------------------------------------- */

/* Scans a segment that somebody else has left, in whatever state. */

struct spool_scan {
	struct spool_segment_header header;
	__u64 size; /* up to the end of the last good record */
	bool torn; /* something follows it */
	__u64 spoilt; /* bad pieces between good records */
	/* Called for each good header, in order; only the last record's body is checked. */
	void (*found)(void *ctx, const struct spool_record_header *h, __u64 offset);
	void *ctx;
};

#define CHUNK 65536U

/* Is there a good header whose record ends within the file? */
static bool record_at(int fd, __u64 at, __u64 end, __u64 mark, struct spool_record_header *h)
{
	if (at + sizeof(*h) > end || spool_pread(fd, h, sizeof(*h), at))
		return false;
	return spool_record_is_good(h, mark) && spool_record_size(h) <= end - at;
}

/* The next good record from there on, or end. */
static __u64 resume_at(int fd, __u64 at, __u64 end, __u64 mark, struct spool_record_header *h)
{
	__u64 words[CHUNK / sizeof(__u64)];

	while (at + sizeof(*h) <= end) {
		size_t len = end - at < sizeof(words) ? end - at : sizeof(words);

		if (spool_pread(fd, words, len, at))
			return end;
		for (size_t i = 0; i < len / sizeof(words[0]); i++) {
			if (words[i] == mark && record_at(fd, at + i * 8, end, mark, h))
				return at + i * 8;
		}
		at += len & ~7UL;
	}
	return end;
}

static bool has_whole_body(int fd, const struct spool_record_header *h, __u64 at)
{
	size_t len = (size_t)h->query_len + h->body_len;
	cleanup_free char *body = malloc(len + 1);

	/* If there is no memory to check it, the reader will. */
	return !body ||
	       (!spool_pread(fd, body, len, at + sizeof(*h)) && spool_body_is_good(h, body));
}

static int open_segment(struct spool_scan *scan, int fd, __u64 *ret_end)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	*ret_end = (__u64)st.st_size;
	if (*ret_end < sizeof(scan->header))
		return -ENOENT;
	if (spool_pread(fd, &scan->header, sizeof(scan->header), 0))
		return -EIO;
	return spool_segment_is_good(&scan->header) ? 0 : -ENOENT;
}

/*
 * found and ctx are inputs, the rest outputs. Returns 0; -ENOENT: not a segment; -errno: it cannot
 * be read.
 */
static int spool_scan_segment(struct spool_scan *scan, int fd)
{
	struct spool_record_header h, last;
	__u64 at = sizeof(scan->header), end = 0, last_at = 0;
	int err = open_segment(scan, fd, &end);

	scan->size = sizeof(scan->header);
	scan->torn = false;
	scan->spoilt = 0;
	if (err)
		return err;
	while (at < end) {
		if (!record_at(fd, at, end, scan->header.mark, &h)) {
			at = resume_at(fd, at + 8, end, scan->header.mark, &h);
			if (at >= end)
				break;
			scan->spoilt++;
		}
		/* The one before was not the last, so it stays. */
		if (last_at)
			scan->found(scan->ctx, &last, last_at);
		last = h;
		last_at = at;
		at += spool_record_size(&h);
	}
	if (last_at && has_whole_body(fd, &last, last_at)) {
		scan->found(scan->ctx, &last, last_at);
		scan->size = last_at + spool_record_size(&last);
	} else if (last_at) {
		scan->size = last_at;
	}
	scan->torn = scan->size < end;
	return 0;
}

/* ---- spool load ------------------------------------------------------------------------------- */

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
	spool_remember_id(s, h->id);
}

static int by_seq(const void *a, const void *b)
{
	const struct spool_entry *x = a, *y = b;

	return compare_numbers(x->seq, y->seq);
}

/*
 * Disk and memory take turns, so their numbers interleave. Of two entries with the same number one
 * is a copy that somebody has put there.
 */
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
	struct spool_segment *seg = &s->segments[i];
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
	spool_group_of(s, i)->bytes += seg->size;
	spool_group_of(s, i)->active = (int)i; /* the last one stays active */
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

	return compare_numbers(x->number, y->number);
}

int spool_load_segments(struct spool *s)
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
