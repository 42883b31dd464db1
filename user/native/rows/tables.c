/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/rows/tables.h"

#include <errno.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/share.h"
#include "native/rows/pieces.h"
#include "base/share/quota.h"

/* ---- row shares -------------------------------------------------------------------------------- */

/*
 * Whose rows must go where there is no room for more (tables.h).
 *
 * Rows can be read again, so nobody is refused for what others have: an owner takes from whoever has most, until he has
 * as much himself; from then on he takes his own. So if everybody wants more than there is, each gets an equal part, and
 * who wants less than that loses nothing. Owners are buckets of host uids (bpf/share.h); a user with many of them has
 * as many parts.
 *
 * Must hold: an owner loses rows to others only while he has more than they; root only what it has beyond its reserve.
 */

/* Initially all 0. */
struct row_shares {
	__u64 held[OWNER_CNT]; /* words */
	__u64 root_reserve;
};

/* May a file of that owner, of so many words, go, so that another one, or the same, gets so many more? */
static inline bool row_shares_may_take(const struct row_shares *s, unsigned from, __u64 file_words,
				       unsigned to, __u64 words)
{
	if (from == to)
		return true;
	if (from == OWNER_ROOT && s->held[from] < s->root_reserve + file_words)
		return false;
	return s->held[from] > s->held[to] + words;
}

/* ---- tables ------------------------------------------------------------------------------------ */

/* Pages of a file whose rows are stored together: a piece of memory has at most this many words. */
#define RUN_WORDS (UNWIND_SLAB_WORDS / 8)
#define RULE_WORDS (sizeof(struct unwind_rule) / sizeof(__u32))
#define PAGE_WORDS (sizeof(struct unwind_page) / sizeof(__u32))
/* One part in so many is for root's rows, of the room that mappings may have for root's, and the most that those may have. */
#define ROOT_PART 8
#define MAPPINGS_PART 2

_Static_assert(OWNER_CNT <= 256, "an owner fits");

struct run {
	__u32 at, words;
};

/* What a file has allocated. */
struct file_room {
	struct run *runs;
	__u32 run_cnt;
	__u32 row_cnt;
	__u64 words; /* of all runs */
	bool dropped; /* dropped, or never loaded, for lack of room */
	bool too_large; /* for all the room there may be */
};

struct unwind_tables {
	struct unwind_memory memory;
	struct pieces pieces;
	struct row_shares shares;
	struct quota *mapping_words;
	__u8 file_owners[UNWIND_FILES_MAX], space_owners[UNWIND_SPACES_MAX];
	struct unwind_slab *slabs[UNWIND_SLABS_MAX];
	__u32 slab_cnt, slab_max;
	struct file_room files[UNWIND_FILES_MAX];
	__u32 file_cnt; /* highest number met, plus one */
	__u32 *free_spaces;
	__u32 free_space_cnt, space_cnt;
	__u32 generations[UNWIND_SPACES_MAX];
};

static __u64 room_words(const struct unwind_tables *t)
{
	return (__u64)t->slab_max * UNWIND_SLAB_WORDS;
}

struct unwind_tables *unwind_tables__new(const struct unwind_memory *memory, __u64 bytes)
{
	struct unwind_tables *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->memory = *memory;
	t->slab_max = (__u32)(bytes / (UNWIND_SLAB_WORDS * sizeof(__u32)));
	if (!t->slab_max)
		t->slab_max = 1;
	if (t->slab_max > UNWIND_SLABS_MAX)
		t->slab_max = UNWIND_SLABS_MAX;
	t->file_cnt = t->space_cnt = 1;
	t->shares.root_reserve = room_words(t) / ROOT_PART;
	t->mapping_words = quota__new(room_words(t) / MAPPINGS_PART,
				      room_words(t) / MAPPINGS_PART / ROOT_PART);
	t->free_spaces = calloc(UNWIND_SPACES_MAX, sizeof(*t->free_spaces));
	if (t->free_spaces && t->mapping_words)
		return t;
	unwind_tables__free(t);
	return NULL;
}

void unwind_tables__free(struct unwind_tables *t)
{
	if (!t)
		return;
	for (__u32 i = 0; i < t->file_cnt; i++)
		free(t->files[i].runs);
	pieces_free(&t->pieces);
	quota__free(t->mapping_words);
	free(t->free_spaces);
	free(t);
}

const struct unwind_memory *unwind_tables__memory(const struct unwind_tables *t)
{
	return &t->memory;
}

const struct unwind_slab *unwind_tables__slab(const struct unwind_tables *t, __u32 number)
{
	return number < t->slab_cnt ? t->slabs[number] : NULL;
}

/* ---- room ------------------------------------------------------------------------------------- */

static __u32 *words_at(struct unwind_tables *t, __u32 at)
{
	return &t->slabs[at >> UNWIND_SLAB_SHIFT]->words[at & (UNWIND_SLAB_WORDS - 1)];
}

/* Walks that have already begun will see another epoch at their end. */
static void settle(struct unwind_tables *t)
{
	__atomic_fetch_add(&t->memory.control->epoch, 1, __ATOMIC_SEQ_CST);
	pieces_settle(&t->pieces);
}

static bool add_slab(struct unwind_tables *t)
{
	struct unwind_slab *slab;

	if (t->slab_cnt == t->slab_max)
		return false;
	slab = t->memory.new_slab(t->memory.ctx, t->slab_cnt);
	if (!slab || pieces_add_slab(&t->pieces, t->slab_cnt))
		return false;
	t->slabs[t->slab_cnt++] = slab;
	return true;
}

static void set_state(struct unwind_tables *t, __u32 file, __u32 state)
{
	__atomic_store_n(&t->memory.files[file].state, state, __ATOMIC_SEQ_CST);
}

static void drop_rows(struct unwind_tables *t, __u32 file)
{
	struct file_room *f = &t->files[file];

	if (!f->runs)
		return;
	set_state(t, file, UNWIND_FILE_UNKNOWN);
	for (__u32 i = 0; i < f->run_cnt; i++)
		pieces_give_back(&t->pieces, f->runs[i].at, f->runs[i].words);
	free(f->runs);
	t->shares.held[t->file_owners[file]] -= f->words;
	*f = (struct file_room){ 0 };
}

/* Do the rows of the one go before those of the other? */
static bool goes_before(const struct unwind_tables *t, __u32 file, __u32 other)
{
	__u64 held = t->shares.held[t->file_owners[file]];
	__u64 other_held = t->shares.held[t->file_owners[other]];
	__u32 used = t->memory.files[file].used, other_used = t->memory.files[other].used;

	if (held != other_held)
		return held > other_held;
	/* Of those used in the same second the largest goes: all stacks pass some of the small ones. */
	return used != other_used ? used < other_used :
				    t->files[file].words > t->files[other].words;
}

/*
 * Drops a file, except keep, so that the owner gets so many words: of the owner who has most, the one least recently
 * used.
 */
static bool drop_one(struct unwind_tables *t, unsigned owner, __u32 words, __u32 keep)
{
	__u32 first = 0;

	for (__u32 i = 1; i < t->file_cnt; i++) {
		if (i != keep && t->files[i].runs &&
		    row_shares_may_take(&t->shares, t->file_owners[i], t->files[i].words, owner,
					words) &&
		    (!first || goes_before(t, i, first)))
			first = i;
	}
	if (!first)
		return false;
	drop_rows(t, first);
	t->files[first].dropped = true;
	return true;
}

/* Allocates words: returned ones first, then new ones, then those of a file that is dropped. */
static __u32 take(struct unwind_tables *t, unsigned owner, __u32 words, __u32 keep)
{
	for (;;) {
		__u32 at = pieces_take(&t->pieces, words);

		if (at) {
			t->shares.held[owner] += words;
			return at;
		}
		if (pieces_has_waiting(&t->pieces))
			settle(t);
		else if (!add_slab(t) && !drop_one(t, owner, words, keep))
			return 0;
	}
}

/* ---- files ------------------------------------------------------------------------------------ */

static bool counts_agree(const struct unwind_rows *r)
{
	__u64 sum = 0;

	if (!r->page_cnt || !r->rule_cnt || r->rule_cnt > UNWIND_RULES_MAX ||
	    (__u64)r->page_cnt * PAGE_WORDS > RUN_WORDS || r->rule_cnt * RULE_WORDS > RUN_WORDS)
		return false;
	for (__u32 i = 0; i < r->page_cnt; i++) {
		if (!r->page_rows[i] || r->page_rows[i] > UNWIND_PAGE_SIZE)
			return false;
		sum += r->page_rows[i];
	}
	return sum == r->row_cnt;
}

/* Allocates words for the file, and fills them if data is given. */
static __u32 add_run(struct unwind_tables *t, __u32 file, const void *data, __u32 words)
{
	struct file_room *f = &t->files[file];
	struct run *grown = reallocarray(f->runs, f->run_cnt + 1, sizeof(*grown));
	__u32 at;

	if (!grown)
		return 0;
	f->runs = grown;
	at = take(t, t->file_owners[file], words, file);
	if (!at)
		return 0;
	f->runs[f->run_cnt++] = (struct run){ at, words };
	f->words += words;
	if (data)
		memcpy(words_at(t, at), data, words * sizeof(__u32));
	return at;
}

/*
 * Adds the rows of as many pages as fit into one run, from page first on. Returns their number, or
 * 0.
 */
static __u32 add_pages(struct unwind_tables *t, __u32 file, const struct unwind_rows *r,
		       __u32 first, const __u32 *rows, struct unwind_page *pages)
{
	__u32 words = r->page_rows[first], cnt = 1, at;

	while (first + cnt < r->page_cnt && words + r->page_rows[first + cnt] <= RUN_WORDS)
		words += r->page_rows[first + cnt++];
	at = add_run(t, file, rows, words);
	if (!at)
		return 0;
	for (__u32 i = first; i < first + cnt; i++) {
		pages[i] = (struct unwind_page){ at, r->page_rows[i] };
		at += r->page_rows[i];
	}
	return cnt;
}

static int fill(struct unwind_tables *t, __u32 file, const struct unwind_rows *r,
		struct unwind_file *ret)
{
	const __u32 *rows = r->rows;
	struct unwind_page *pages;

	ret->rules = add_run(t, file, r->rules, (__u32)(r->rule_cnt * RULE_WORDS));
	ret->pages = ret->rules ? add_run(t, file, NULL, r->page_cnt * PAGE_WORDS) : 0;
	if (!ret->pages)
		return -ENOSPC;
	pages = (struct unwind_page *)words_at(t, ret->pages);
	for (__u32 i = 0, cnt; i < r->page_cnt; i += cnt) {
		cnt = add_pages(t, file, r, i, rows, pages);
		if (!cnt)
			return -ENOSPC;
		for (__u32 k = i; k < i + cnt; k++)
			rows += r->page_rows[k];
	}
	return 0;
}

/* Mappings need some of the room. */
static bool is_too_large(const struct unwind_tables *t, const struct unwind_rows *r)
{
	return RULE_WORDS * r->rule_cnt + PAGE_WORDS * r->page_cnt + r->row_cnt >= room_words(t);
}

int unwind_tables__set_rows(struct unwind_tables *t, __u32 file, const struct unwind_rows *rows,
			    __u32 now)
{
	struct unwind_file *f = &t->memory.files[file], next = { 0 };
	int err;

	if (!file || file >= UNWIND_FILES_MAX || !counts_agree(rows))
		return -EINVAL;
	if (t->files[file].runs) {
		drop_rows(t, file);
		settle(t);
	}
	if (file >= t->file_cnt)
		t->file_cnt = file + 1;
	t->files[file].too_large = is_too_large(t, rows);
	if (t->files[file].too_large) {
		t->files[file].dropped = true;
		return -ENOSPC;
	}
	err = fill(t, file, rows, &next);
	t->files[file].row_cnt = rows->row_cnt;
	if (err) {
		drop_rows(t, file);
		t->files[file].dropped = true;
		return err;
	}
	t->files[file].dropped = false;
	f->first_page = rows->first_page;
	f->page_cnt = rows->page_cnt;
	f->pages = next.pages;
	f->rules = next.rules;
	f->rule_cnt = rows->rule_cnt;
	f->used = now;
	f->wanted = 0;
	set_state(t, file, UNWIND_FILE_ROWS);
	return 0;
}

void unwind_tables__forget(struct unwind_tables *t, __u32 file)
{
	drop_rows(t, file);
	t->files[file] = (struct file_room){ 0 };
	t->file_owners[file] = OWNER_ROOT;
	set_state(t, file, UNWIND_FILE_UNKNOWN);
	/* Caches may still have results for this number; a new epoch invalidates them. */
	settle(t);
	t->memory.files[file].used = 0;
	t->memory.files[file].wanted = 0;
}

void unwind_tables__set_owner(struct unwind_tables *t, __u32 file, unsigned owner)
{
	t->shares.held[t->file_owners[file]] -= t->files[file].words;
	t->file_owners[file] = (__u8)owner;
	t->shares.held[t->file_owners[file]] += t->files[file].words;
}

unsigned unwind_tables__owner(const struct unwind_tables *t, __u32 file)
{
	return t->file_owners[file];
}

__u32 unwind_tables__used(const struct unwind_tables *t, __u32 file)
{
	return t->memory.files[file].used;
}

void unwind_tables__set_none(struct unwind_tables *t, __u32 file)
{
	drop_rows(t, file);
	set_state(t, file, UNWIND_FILE_NONE);
}

bool unwind_tables__is_dropped(const struct unwind_tables *t, __u32 file)
{
	return t->files[file].dropped;
}

bool unwind_tables__is_too_large(const struct unwind_tables *t, __u32 file)
{
	return t->files[file].too_large;
}

bool unwind_tables__is_wanted(struct unwind_tables *t, __u32 file)
{
	return __atomic_exchange_n(&t->memory.files[file].wanted, 0, __ATOMIC_RELAXED);
}

bool unwind_tables__is_settled(const struct unwind_tables *t, __u32 file)
{
	return t->memory.files[file].state != UNWIND_FILE_UNKNOWN;
}

/* ---- mappings --------------------------------------------------------------------------------- */

static void give_back(struct unwind_tables *t, unsigned owner, __u32 mappings, __u32 words)
{
	pieces_give_back(&t->pieces, mappings, words);
	t->shares.held[owner] -= words;
	quota__give(t->mapping_words, owner, words);
}

static void set_space(struct unwind_tables *t, __u32 number, struct unwind_space space,
		      unsigned owner)
{
	const struct unwind_space old = t->memory.spaces[number];
	__u64 word;

	memcpy(&word, &space, sizeof(word));
	__atomic_store_n((__u64 *)&t->memory.spaces[number], word, __ATOMIC_SEQ_CST);
	give_back(t, t->space_owners[number], old.mappings,
		  (__u32)(UNWIND_SPACE_CNT(old.cnt) * UNWIND_MAPPING_WORDS));
	t->space_owners[number] = (__u8)owner;
}

static __u32 take_mappings(struct unwind_tables *t, unsigned owner, __u32 words)
{
	__u32 at;

	if (!words || quota__take(t->mapping_words, owner, words))
		return 0;
	at = take(t, owner, words, 0);
	if (!at)
		quota__give(t->mapping_words, owner, words);
	return at;
}

/* A free number, with its next generation; 0: there is none. */
static __u32 new_space(struct unwind_tables *t)
{
	__u32 number;

	if (t->free_space_cnt)
		number = t->free_spaces[--t->free_space_cnt];
	else if (t->space_cnt < UNWIND_SPACES_MAX)
		number = t->space_cnt++;
	else
		return 0;
	return UNWIND_SPACE(number, ++t->generations[number]);
}

__u32 unwind_tables__set_space(struct unwind_tables *t, __u32 space,
			       const struct unwind_mapping *list, __u32 cnt, unsigned owner)
{
	struct unwind_space next;
	__u32 words;

	if (cnt > UNWIND_MAPPINGS_MAX)
		cnt = UNWIND_MAPPINGS_MAX;
	words = (__u32)(cnt * UNWIND_MAPPING_WORDS);
	next.mappings = take_mappings(t, owner, words);
	if (!next.mappings)
		return space;
	if (!space)
		space = new_space(t);
	if (!space) {
		give_back(t, owner, next.mappings, words);
		return 0;
	}
	next.cnt = UNWIND_SPACE(cnt, UNWIND_SPACE_GENERATION(space));
	memcpy(words_at(t, next.mappings), list, words * sizeof(__u32));
	set_space(t, UNWIND_SPACE_NUMBER(space), next, owner);
	return space;
}

void unwind_tables__drop_space(struct unwind_tables *t, __u32 space)
{
	__u32 number = UNWIND_SPACE_NUMBER(space);

	if (!space)
		return;
	set_space(t, number, (struct unwind_space){ 0 }, OWNER_ROOT);
	t->free_spaces[t->free_space_cnt++] = number;
}

bool unwind_tables__holds(const struct unwind_tables *t, unsigned owner)
{
	return t->shares.held[owner % OWNER_CNT];
}
