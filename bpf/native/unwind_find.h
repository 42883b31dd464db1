/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind_find.h - from an address to its rule: a cache of recent results, then the tables of rows.h.
 *
 * The environment supplies, in the kernel unwind_maps.h and on the host whoever walks:
 *   const struct unwind_slab *unwind_slab(const struct native_walk *w, __u32 number)
 *   struct unwind_file *unwind_file_at(const struct native_walk *w, __u32 number)
 *   const struct unwind_space *unwind_space_at(const struct native_walk *w, __u32 number)
 *   struct unwind_cached *unwind_cached_at(const struct native_walk *w, __u32 number)     each may be NULL
 *
 * Must hold: nothing that the tables have leads to a read anywhere but in them.
 */
#ifndef KRAIT_BPF_NATIVE_UNWIND_FIND_H
#define KRAIT_BPF_NATIVE_UNWIND_FIND_H

#include "bpf/native/walk_state.h"
#include "bpf/native/rows.h"

#ifdef __bpf__
#include "bpf/map/unwind_maps.h"
#endif

/* Sets w's mappings to those of the space, if it has any. */
static __always_inline void unwind_enter(struct native_walk *w, __u32 space)
{
	const struct unwind_space *found = space ? unwind_space_at(w, UNWIND_SPACE_NUMBER(space)) :
						   NULL;
	__u64 word;

	w->space = 0;
	w->mapping_cnt = 0;
	if (!found)
		return;
	word = *(const volatile __u64 *)found;
	if (UNWIND_SPACE_GENERATION((__u32)(word >> 32)) != UNWIND_SPACE_GENERATION(space))
		return;
	w->space = space;
	w->mappings = (__u32)word;
	w->mapping_cnt = UNWIND_SPACE_CNT((__u32)(word >> 32));
}

#define UNWIND_WORD(slab, position) ((slab)->words[(position) & (UNWIND_SLAB_WORDS - 1)])

/* Reads eight bytes at a position, which is even. */
static __always_inline __u64 unwind_word64(const struct unwind_slab *slab, __u32 position)
{
	return UNWIND_WORD(slab, position) | (__u64)UNWIND_WORD(slab, position + 1) << 32;
}

/* Halvings of a turn of a search. */
#define UNWIND_TURN 4

/*
 * Makes a turn of the search that w describes, for the last of the elements whose number, a part of its first
 * eight bytes, is not above the key. bit: log2 of how far the turn's first halving looks ahead.
 */
static __always_inline int unwind_search_turn(struct native_walk *w, __u32 bit)
{
	const struct unwind_slab *slab = unwind_slab(w, w->base >> UNWIND_SLAB_SHIFT);

	if (!slab)
		return -1;
	for (int i = 0; i < UNWIND_TURN; i++) {
		__u32 next = w->at + (1U << ((bit - i) & 15)),
		      at = w->base + (next << (w->shift & 7));

		if (next < w->element_cnt && (unwind_word64(slab, at) & w->mask) <= w->key)
			w->at = next;
	}
	return 0;
}

/* In the kernel this is a global function (loops.h): the verifier follows a turn once, not each halving. */
#ifdef __bpf__
int unwind_turn_apart(__u32 memory, __u32 bit);
#define UNWIND_SEARCH_TURN(w, bit) unwind_turn_apart((w)->context, bit)
#else
#define UNWIND_SEARCH_TURN(w, bit) unwind_search_turn(w, bit)
#endif

/*
 * Searches cnt sorted elements of 1 << shift words from the position base on, and leaves in w->at the last one that
 * is not above the key, or the first if all are.
 */
static __always_inline void unwind_search(struct native_walk *w, __u32 base, __u32 cnt, __u32 shift,
					  __u64 key, __u64 mask)
{
	w->at = 0;
	w->base = base;
	w->element_cnt = cnt;
	w->shift = shift;
	w->key = key;
	w->mask = mask;
	for (__u32 turn = 16 / UNWIND_TURN; turn; turn--)
		UNWIND_SEARCH_TURN(w, turn * UNWIND_TURN - 1);
}

/* Sets w's mapping to the one that contains the address. Returns 0, or -1 if there is none. */
static __always_inline int unwind_find_mapping(struct native_walk *w, __u64 ip)
{
	const struct unwind_slab *slab;
	__u32 base = w->mappings;

	if (ip - w->start < w->end - w->start)
		return 0;
	w->start = w->end = 0;
	w->file = 0;
	if (!w->mapping_cnt || ip >> 63)
		return -1;
	slab = unwind_slab(w, base >> UNWIND_SLAB_SHIFT);
	if (!slab)
		return -1;
	unwind_search(w, base, w->mapping_cnt, UNWIND_MAPPING_SHIFT, ip, ~0ULL);
	base += w->at << UNWIND_MAPPING_SHIFT;
	w->start = unwind_word64(slab, base);
	w->end = unwind_word64(slab, base + 2);
	w->bias = unwind_word64(slab, base + 4);
	w->file = UNWIND_WORD(slab, base + 6);
	if (ip >= w->start && ip < w->end)
		return 0;
	w->start = w->end = 0;
	w->file = 0;
	return -1;
}

/* The rule number of the row at w->at, and for how many addresses around the offset it holds. */
static __always_inline __u32 unwind_row_found(struct native_walk *w, const struct unwind_slab *slab,
					      __u32 rows, __u32 cnt, __u32 offset)
{
	__u32 at = w->at, row = UNWIND_WORD(slab, rows + at), end = UNWIND_PAGE_SIZE;

	if (at + 1 < cnt)
		end = UNWIND_ROW_OFFSET(UNWIND_WORD(slab, rows + at + 1));
	w->before = w->after = 0;
	if (UNWIND_ROW_OFFSET(row) <= offset && offset < end) {
		w->before = offset - UNWIND_ROW_OFFSET(row);
		w->after = end - 1 - offset;
	}
	return UNWIND_ROW_RULE(row);
}

/* The rule number for an offset of a file. */
static __always_inline __u32 unwind_rule_number(struct native_walk *w, const struct unwind_file *f,
						__u64 offset)
{
	__u64 page = (offset >> UNWIND_PAGE_SHIFT) - f->first_page;
	const struct unwind_slab *slab = unwind_slab(w, f->pages >> UNWIND_SLAB_SHIFT);
	__u32 position, rows, cnt;

	if (!slab || page >= f->page_cnt)
		return UNWIND_NO_RULE;
	position = f->pages + 2 * (__u32)page;
	rows = UNWIND_WORD(slab, position);
	cnt = UNWIND_WORD(slab, position + 1);
	slab = unwind_slab(w, rows >> UNWIND_SLAB_SHIFT);
	if (!slab)
		return UNWIND_NO_RULE;
	offset &= UNWIND_PAGE_SIZE - 1;
	unwind_search(w, rows, cnt, 0, offset, UNWIND_ROW_OFFSET(~0ULL));
	return unwind_row_found(w, slab, rows, cnt, (__u32)offset);
}

static __always_inline int unwind_look_up(struct native_walk *w, __u64 ip)
{
	const struct unwind_slab *slab;
	struct unwind_file *f;
	__u32 number, at;

	if (unwind_find_mapping(w, ip)) {
		if (!(w->flags & UNWIND_BY_FP))
			w->flags |= UNWIND_UNMAPPED;
		return -1;
	}
	f = w->file ? unwind_file_at(w, w->file) : NULL;
	if (!f)
		return -1;
	if (f->used != w->now)
		f->used = w->now;
	if (f->state != UNWIND_FILE_ROWS) {
		if (f->state == UNWIND_FILE_UNKNOWN) {
			w->flags |= UNWIND_NO_ROWS | UNWIND_UNMAPPED;
			if (!f->wanted)
				f->wanted = 1;
		}
		return -1;
	}
	number = unwind_rule_number(w, f, ip - w->bias);
	if (number == UNWIND_NO_RULE || number >= f->rule_cnt)
		return -1;
	at = f->rules + number * (__u32)(sizeof(struct unwind_rule) / sizeof(__u32));
	slab = unwind_slab(w, at >> UNWIND_SLAB_SHIFT);
	if (!slab)
		return -1;
	__builtin_memcpy(&w->rule, &UNWIND_WORD(slab, at), sizeof(w->rule));
	return 0;
}

/*
 * In the kernel this is a global function (loops.h), which is verified once and not again on each
 * path that leads here.
 */
#ifdef __bpf__
int unwind_look_up_apart(__u32 memory, __u64 ip);
#define UNWIND_LOOK_UP(w, ip) unwind_look_up_apart((w)->context, ip)
#else
#define UNWIND_LOOK_UP(w, ip) unwind_look_up(w, ip)
#endif

/* The cache entry for an address, which may hold another address's answer. */
static __always_inline struct unwind_cached *unwind_cached(const struct native_walk *w, __u64 ip)
{
	__u64 hash = (ip >> UNWIND_BLOCK_SHIFT ^ w->space) * 0x9e3779b97f4a7c15ULL;

	return unwind_cached_at(w, (__u32)(hash >> 40) & (UNWIND_CACHE_SIZE - 1));
}

/* Does the entry cover this address? */
static __always_inline bool unwind_cached_is_of(const struct unwind_cached *c, __u64 ip)
{
	__u32 place = ip & UNWIND_BLOCK_MASK;
	__u64 range = c->range;

	return ((range ^ ip) & UNWIND_CACHED_BLOCK) == 0 && !(ip >> UNWIND_CACHED_HIGH) &&
	       place >= (range & UNWIND_BLOCK_MASK) && place <= range >> UNWIND_CACHED_HIGH;
}

/* After unwind_look_up(): the addresses of this block that have w's rule. */
static __always_inline __u64 unwind_range(const struct native_walk *w, __u64 ip)
{
	__u64 place = ip & UNWIND_BLOCK_MASK, rest = UNWIND_BLOCK_MASK - place;
	__u64 before = w->before, after = w->after;

	if (before > ip - w->start)
		before = ip - w->start;
	if (after > w->end - 1 - ip)
		after = w->end - 1 - ip;
	return UNWIND_CACHED(ip >> UNWIND_BLOCK_SHIFT, before < place ? place - before : 0,
			     after < rest ? place + after : UNWIND_BLOCK_MASK);
}

/* Sets w's rule to the one for this address. Returns 0; -1: there is none. */
static __always_inline int unwind_find_rule(struct native_walk *w, __u64 ip)
{
	__u64 tag = unwind_tag(w);
	struct unwind_cached *c = unwind_cached(w, ip);

	if (c && c->tag == tag && unwind_cached_is_of(c, ip)) {
		w->rule = c->rule;
		return 0;
	}
	if (UNWIND_LOOK_UP(w, ip))
		return -1;
	c = unwind_cached(w, ip);
	if (c && !(ip >> UNWIND_CACHED_HIGH)) {
		c->range = unwind_range(w, ip);
		c->tag = tag;
		c->rule = w->rule;
	}
	return 0;
}

#endif /* KRAIT_BPF_NATIVE_UNWIND_FIND_H */
