/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/export/spool_inside.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/export/spool_scan.h"
#include "base/data/vec.h"

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

	return (x->seq > y->seq) - (x->seq < y->seq);
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

	return (x->number > y->number) - (x->number < y->number);
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
