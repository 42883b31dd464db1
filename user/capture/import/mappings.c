/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/import/mappings.h"
#include "base/data/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A process has some hundred; a hostile file may claim any number. */
#define MAX_MAPPINGS 65536
/* 4 KB: what must be moved to insert a mapping in the middle. */
#define PIECE_MAPPINGS 128U

/* Sorted by start, and never empty; refs: sets that contain it. */
struct piece {
	unsigned refs, cnt;
	struct mapping list[PIECE_MAPPINGS];
};

/* refs: processes that use it. */
struct mapping_set {
	unsigned refs, cnt, cap; /* pieces */
	unsigned mapping_cnt;
	struct piece **pieces; /* by start */
};

/* ---- memory ----------------------------------------------------------------------------------- */

static void *take(struct mappings_budget *b, size_t size)
{
	void *mem = b->used + size <= MAPPINGS_BYTES_MAX ? calloc(1, size) : NULL;

	if (mem)
		b->used += size;
	return mem;
}

static void give(struct mappings_budget *b, void *mem, size_t size)
{
	if (mem)
		b->used -= size;
	free(mem);
}

static void release_piece(struct piece *p, struct mappings_budget *b)
{
	if (!--p->refs)
		give(b, p, sizeof(*p));
}

void mappings_free(struct mappings *m, struct mappings_budget *b)
{
	struct mapping_set *s = m->set;

	m->set = NULL;
	if (!s || --s->refs)
		return;
	for (unsigned i = 0; i < s->cnt; i++)
		release_piece(s->pieces[i], b);
	give(b, s->pieces, s->cap * sizeof(*s->pieces));
	give(b, s, sizeof(*s));
}

void mappings_share(struct mappings *to, const struct mappings *from, struct mappings_budget *b)
{
	struct mapping_set *s = from->set;

	if (s)
		s->refs++;
	mappings_free(to, b);
	to->set = s;
}

/* ---- what one process changes becomes its own --------------------------------------------------- */

static int own_set(struct mappings *m, struct mappings_budget *b)
{
	struct mapping_set *s = m->set, *copy;

	if (s && s->refs == 1)
		return 0;
	copy = take(b, sizeof(*copy));
	if (!copy)
		return -E2BIG;
	copy->refs = 1;
	copy->cap = s && s->cnt > 8 ? s->cnt + 2 : 8;
	copy->pieces = take(b, copy->cap * sizeof(*copy->pieces));
	if (!copy->pieces) {
		give(b, copy, sizeof(*copy));
		return -E2BIG;
	}
	for (unsigned i = 0; s && i < s->cnt; i++) {
		copy->pieces[i] = s->pieces[i];
		copy->pieces[i]->refs++;
	}
	copy->cnt = s ? s->cnt : 0;
	copy->mapping_cnt = s ? s->mapping_cnt : 0;
	mappings_free(m, b);
	m->set = copy;
	return 0;
}

static int own_piece(struct mapping_set *s, unsigned at, struct mappings_budget *b)
{
	struct piece *p = s->pieces[at], *copy;

	if (p->refs == 1)
		return 0;
	copy = take(b, sizeof(*copy));
	if (!copy)
		return -E2BIG;
	*copy = *p;
	copy->refs = 1;
	p->refs--;
	s->pieces[at] = copy;
	return 0;
}

static int insert_piece(struct mapping_set *s, unsigned at, struct mappings_budget *b)
{
	struct piece *new = take(b, sizeof(*new));
	struct piece **grown;

	if (!new)
		return -E2BIG;
	if (s->cnt == s->cap) {
		grown = take(b, 2 * s->cap * sizeof(*grown));
		if (!grown) {
			give(b, new, sizeof(*new));
			return -E2BIG;
		}
		memcpy(grown, s->pieces, s->cnt * sizeof(*grown));
		give(b, s->pieces, s->cap * sizeof(*s->pieces));
		s->pieces = grown;
		s->cap *= 2;
	}
	new->refs = 1;
	memmove(&s->pieces[at + 1], &s->pieces[at], (s->cnt - at) * sizeof(*s->pieces));
	s->pieces[at] = new;
	s->cnt++;
	return 0;
}

static void drop_piece(struct mapping_set *s, unsigned at, struct mappings_budget *b)
{
	s->mapping_cnt -= s->pieces[at]->cnt;
	release_piece(s->pieces[at], b);
	s->cnt--;
	memmove(&s->pieces[at], &s->pieces[at + 1], (s->cnt - at) * sizeof(*s->pieces));
}

/* ---- looking up ------------------------------------------------------------------------------- */

static __u64 end_of_piece(const struct piece *p)
{
	return p->list[p->cnt - 1].end;
}

/* Index of the first mapping of the piece that ends after address. */
static unsigned first_behind(const struct piece *p, __u64 address)
{
	return (unsigned)sorted_below(p->cnt, i, p->list[i].end <= address);
}

/* Index of the first piece with such a mapping; the number of pieces if there is none. */
static unsigned piece_behind(const struct mapping_set *s, __u64 address)
{
	return (unsigned)sorted_below(s->cnt, i, end_of_piece(s->pieces[i]) <= address);
}

static const struct mapping *at_or_behind(const struct mappings *m, __u64 address)
{
	const struct mapping_set *s = m->set;
	unsigned at = s ? piece_behind(s, address) : 0;

	return s && at < s->cnt ? &s->pieces[at]->list[first_behind(s->pieces[at], address)] : NULL;
}

const struct mapping *mappings_find(const struct mappings *m, __u64 address)
{
	const struct mapping *found = at_or_behind(m, address);

	return found && found->start <= address ? found : NULL;
}

/* ---- changing --------------------------------------------------------------------------------- */

/*
 * Removes what begins before end, starting with the first mapping of the piece that ends after
 * start.
 */
static void cut(struct mapping_set *s, struct piece *p, __u64 start, __u64 end)
{
	unsigned from = first_behind(p, start), to = from;

	while (to < p->cnt && p->list[to].start < end)
		to++;
	memmove(&p->list[from], &p->list[to], (p->cnt - to) * sizeof(*p->list));
	p->cnt -= to - from;
	s->mapping_cnt -= to - from;
}

/*
 * Removes everything that overlaps. Pieces inside the range are dropped whole, so at most two are
 * cut.
 */
static int clear(struct mapping_set *s, __u64 start, __u64 end, struct mappings_budget *b)
{
	unsigned at = piece_behind(s, start);

	while (at < s->cnt) {
		const struct piece *p = s->pieces[at];

		if (p->list[p->cnt - 1].start < end && p->list[0].end > start) {
			drop_piece(s, at, b);
			continue;
		}
		if (p->list[first_behind(p, start)].start >= end)
			return 0;
		if (own_piece(s, at, b))
			return -E2BIG;
		cut(s, s->pieces[at], start, end);
		at++;
	}
	return 0;
}

static int split(struct mapping_set *s, unsigned at, struct mappings_budget *b)
{
	unsigned half = PIECE_MAPPINGS / 2;
	struct piece *low, *high;
	int err = insert_piece(s, at + 1, b);

	if (err)
		return err;
	low = s->pieces[at];
	high = s->pieces[at + 1];
	memcpy(high->list, &low->list[half], (low->cnt - half) * sizeof(*high->list));
	high->cnt = low->cnt - half;
	low->cnt = half;
	return 0;
}

/* The range must be free. */
static int insert(struct mapping_set *s, const struct mapping *new, struct mappings_budget *b)
{
	unsigned at = piece_behind(s, new->start), to;
	struct piece *p;
	int err = s->cnt ? 0 : insert_piece(s, 0, b);

	at = at == s->cnt ? s->cnt - 1 : at;
	if (!err)
		err = own_piece(s, at, b);
	if (!err && s->pieces[at]->cnt == PIECE_MAPPINGS) {
		err = split(s, at, b);
		if (!err && new->start >= s->pieces[at + 1]->list[0].start)
			at++;
	}
	if (err)
		return err;
	p = s->pieces[at];
	to = first_behind(p, new->start);
	memmove(&p->list[to + 1], &p->list[to], (p->cnt - to) * sizeof(*p->list));
	p->list[to] = *new;
	p->cnt++;
	s->mapping_cnt++;
	return 0;
}

int mappings_add(struct mappings *m, const struct mapping *new, struct mappings_budget *b)
{
	const struct mapping *next;
	int err;

	if (new->start >= new->end)
		return -EINVAL;
	next = at_or_behind(m, new->start);
	if (m->set && m->set->mapping_cnt >= MAX_MAPPINGS && (!next || next->start >= new->end))
		return -E2BIG;
	err = own_set(m, b);
	if (!err)
		err = clear(m->set, new->start, new->end, b);
	return err ? err : insert(m->set, new, b);
}
