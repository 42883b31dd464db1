/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/rows/pieces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/native/rows.h"

static __u32 rounded(__u32 words)
{
	return (words + 1) & ~1U;
}

void pieces_free(struct pieces *r)
{
	free(r->free);
	free(r->waiting);
	*r = (struct pieces){ 0 };
}

static bool grow(struct piece **list, __u32 cnt, __u32 *cap)
{
	struct piece *grown;

	if (cnt < *cap)
		return true;
	grown = reallocarray(*list, *cap ? 2 * *cap : 64, sizeof(*grown));
	if (!grown)
		return false;
	*list = grown;
	*cap = *cap ? 2 * *cap : 64;
	return true;
}

/* Pieces of different slabs may be adjacent, but are never merged. */
static bool touch(const struct piece *a, const struct piece *b)
{
	return a->at + a->words == b->at && b->at % UNWIND_SLAB_WORDS;
}

static void remove_at(struct pieces *r, __u32 i)
{
	memmove(&r->free[i], &r->free[i + 1], (--r->free_cnt - i) * sizeof(*r->free));
}

/* Inserts a free piece, and merges it with adjacent ones. */
static int put_free(struct pieces *r, struct piece piece)
{
	__u32 i = 0;

	while (i < r->free_cnt && r->free[i].at < piece.at)
		i++;
	if (i && touch(&r->free[i - 1], &piece)) {
		r->free[--i].words += piece.words;
	} else {
		if (!grow(&r->free, r->free_cnt, &r->free_cap))
			return -ENOMEM;
		memmove(&r->free[i + 1], &r->free[i], (r->free_cnt - i) * sizeof(*r->free));
		r->free[i] = piece;
		r->free_cnt++;
	}
	if (i + 1 < r->free_cnt && touch(&r->free[i], &r->free[i + 1])) {
		r->free[i].words += r->free[i + 1].words;
		remove_at(r, i + 1);
	}
	return 0;
}

int pieces_add_slab(struct pieces *r, __u32 number)
{
	struct piece piece = { number << UNWIND_SLAB_SHIFT, UNWIND_SLAB_WORDS };

	/* Position 0 means none. */
	if (!number)
		piece = (struct piece){ 2, UNWIND_SLAB_WORDS - 2 };
	return put_free(r, piece);
}

__u32 pieces_take(struct pieces *r, __u32 words)
{
	words = rounded(words);
	for (__u32 i = 0; words && i < r->free_cnt; i++) {
		struct piece *p = &r->free[i];
		__u32 at = p->at;

		if (p->words < words)
			continue;
		p->at += words;
		p->words -= words;
		if (!p->words)
			remove_at(r, i);
		return at;
	}
	return 0;
}

void pieces_give_back(struct pieces *r, __u32 at, __u32 words)
{
	if (at && words && grow(&r->waiting, r->waiting_cnt, &r->waiting_cap))
		r->waiting[r->waiting_cnt++] = (struct piece){ at, rounded(words) };
}

bool pieces_has_waiting(const struct pieces *r)
{
	return r->waiting_cnt;
}

void pieces_settle(struct pieces *r)
{
	for (__u32 i = 0; i < r->waiting_cnt; i++)
		if (put_free(r, r->waiting[i]))
			break;
	r->waiting_cnt = 0;
}
