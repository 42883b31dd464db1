/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbolizer.c - the cache of code objects and the proof that a cached one is the right one.
 *
 * A query says that a code object was alive at an address at the moment of an interrupt. What is
 * there now need not be that object, and need not be alive: the memory of a dead one stays as it
 * was until it is used again. There are three proofs, and no answer without one:
 *  - the fingerprint that was taken in the interrupt is that of the object that is now alive there;
 *  - code_object_generation, which grows when any code object of the interpreter dies, is still
 *    that of the interrupt after everything was read: so nothing died meanwhile;
 *  - the same head (with co_version, which no two objects share) was there before the interrupt and
 *    is there after it.
 *
 * So an entry has a range of generations, from that of its first proof, or of its first sight, to
 * that of the last. A look that finds the head unchanged extends it to the query's generation, and
 * to all that were over when the look began: no interrupt of theirs is still to come. In a program
 * that makes and drops code objects all the time, that keeps the names of all others for one look
 * for each new generation. There, no first look is proved by its generation; the query is stale
 * then, and the entry is first sight for those that follow.
 *
 * A layout that has no generation and a query without a fingerprint leave nothing to prove
 * anything with: the address alone decides then. The kernel side takes fingerprints for all such
 * layouts, so this is for tools that stop the target.
 *
 * Entries go by second chance, in the order in which they came: as good as least recently used
 * here, and a hit costs one store.
 */
#include "symbol/symbolizer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/code_object.h"
#include "util/cleanup.h"

/* Out of memory leaves the element out instead of ending the program. */
#define HASH_NONFATAL_OOM 1
/* Code objects are 16-byte aligned and 200 to 10000 bytes apart. */
#define HASH_FUNCTION(key, len, hash) ((hash) = hash_addr(key))
#include <uthash.h>

/* More than any program seen runs (Django, 6000 modules: about 50000 that exist). */
#define ENTRIES_MAX 65536
/* One entry is about 0.5 KB; the rest is for generated code with line tables up to 4 MiB. */
#define ENTRIES_MAX_BYTES (128u << 20)
/* Unreadable addresses remembered; there are none in a program that is well. */
#define REFUSED_CNT 64
/* Then look again: at 1 kHz once a second. */
#define REFUSALS_MAX 1024

struct entry {
	__u64 code_addr;
	__u64 interp_addr; /* of the generations; 0 none */
	/* Queries in [first, end) are proved; later ones take a look, earlier ones are stale. */
	__u64 first_generation, end_generation;
	__u64 serial;
	struct code_head head;
	struct code_body body;
	size_t footprint;
	bool used; /* again after it came, since the last search for a victim */
	/* The answer given last: a frame further down stays where it is for many samples. */
	__s32 last_instr_off;
	struct source_position last_position;
	UT_hash_handle hh;
};

/* A query that could not be answered for want of readable memory. */
struct refused {
	__u64 code_addr;
	__u64 generation;
	__u32 fingerprint;
	__u32 left; /* refusals until the next attempt; 0 for an empty element */
};

struct symbolizer {
	struct py_offsets offsets;
	struct memory memory;
	struct entry *entries;
	size_t footprint;
	__u64 last_serial;
	__u64 type_addr; /* PyCode_Type, 0 until a whole code object was read */
	/* The generation as last read: a lower bound that serves all frames of a batch. */
	__u64 seen_interp_addr, seen_generation;
	struct refused refused[REFUSED_CNT];
	struct symbolizer_stats stats;
};

static unsigned int hash_addr(const void *key)
{
	__u64 addr;

	memcpy(&addr, key, sizeof(addr));
	return (unsigned int)(((addr >> 4) * 0x9e3779b97f4a7c15ULL) >> 32);
}

struct symbolizer *symbolizer__new(const struct py_offsets *offsets, const struct memory *memory)
{
	struct symbolizer *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->offsets = *offsets;
	s->memory = *memory;
	return s;
}

static void entry_free(struct entry *e)
{
	if (!e)
		return;
	code_body_deinit(&e->body);
	free(e);
}

static void forget(struct symbolizer *s, struct entry *e)
{
	HASH_DEL(s->entries, e);
	s->footprint -= e->footprint;
	entry_free(e);
}

void symbolizer__free(struct symbolizer *s)
{
	struct entry *e, *next;

	if (!s)
		return;
	HASH_ITER(hh, s->entries, e, next)
		forget(s, e);
	free(s);
}

/* ---- cache ----------------------------------------------------------------------------------- */

static struct entry *find(struct symbolizer *s, __u64 code_addr)
{
	struct entry *e;

	HASH_FIND(hh, s->entries, &code_addr, sizeof(code_addr), e);
	return e;
}

static int append(struct symbolizer *s, struct entry *e)
{
	HASH_ADD(hh, s->entries, code_addr, sizeof(e->code_addr), e);
	if (!e->hh.tbl)
		return -ENOMEM;
	s->footprint += e->footprint;
	return 0;
}

/* The oldest one that was not used since it was last looked at here. */
static void evict(struct symbolizer *s)
{
	struct entry *e = s->entries;

	while (e->used) {
		e->used = false;
		HASH_DEL(s->entries, e);
		s->footprint -= e->footprint;
		if (append(s, e)) {
			entry_free(e);
			return;
		}
		e = s->entries;
	}
	forget(s, e);
	s->stats.evictions++;
}

/* Takes *e over, on failure too. */
static int insert(struct symbolizer *s, struct entry *e)
{
	struct entry *old = find(s, e->code_addr);
	int err;

	if (old)
		forget(s, old);
	e->footprint = sizeof(*e) + strlen(e->body.qualname) + strlen(e->body.filename) + 2 +
		       linetable_footprint(&e->body.lines);
	while (s->entries && (HASH_COUNT(s->entries) >= ENTRIES_MAX ||
			      s->footprint + e->footprint > ENTRIES_MAX_BYTES))
		evict(s);
	e->serial = ++s->last_serial;
	err = append(s, e);
	if (err)
		entry_free(e);
	return err;
}

static struct refused *refused_slot(struct symbolizer *s, const struct code_query *q)
{
	return &s->refused[hash_addr(&q->code_addr) % REFUSED_CNT];
}

static bool is_refused(struct symbolizer *s, const struct code_query *q)
{
	struct refused *r = refused_slot(s, q);

	if (!r->left || r->code_addr != q->code_addr || r->generation != q->code_generation ||
	    r->fingerprint != q->fingerprint)
		return false;
	r->left--;
	return true;
}

static void refuse(struct symbolizer *s, const struct code_query *q)
{
	*refused_slot(s, q) =
		(struct refused){ q->code_addr, q->code_generation, q->fingerprint, REFUSALS_MAX };
}

/* ---- proof ----------------------------------------------------------------------------------- */

static bool has_generation(const struct symbolizer *s)
{
	return s->offsets.interp.code_object_generation != PYOFF_ABSENT;
}

/* -EAGAIN: the generation is below that of the interrupt, so it is not a generation. */
static int read_generation(struct symbolizer *s, const struct code_query *q, __u64 *ret)
{
	__u64 generation;
	int err;

	if (!q->interp_addr)
		return -EINVAL;
	err = memory_read(&s->memory,
			  q->interp_addr + (__u64)s->offsets.interp.code_object_generation,
			  &generation, sizeof(generation));
	if (err)
		return err;
	if (generation < q->code_generation)
		return -EAGAIN;
	s->seen_interp_addr = q->interp_addr;
	s->seen_generation = generation;
	*ret = generation;
	return 0;
}

static bool is_proved(const struct symbolizer *s, const struct entry *e, const struct code_query *q)
{
	if (q->fingerprint)
		return e->head.fingerprint == q->fingerprint;
	if (!has_generation(s))
		return true;
	return e->interp_addr == q->interp_addr && e->first_generation <= q->code_generation &&
	       q->code_generation < e->end_generation;
}

/*
 * Looks whether the object of a cached entry is still there. 1: it is, and the entry now covers the
 * query; 0: another one is; -EAGAIN: nothing can be said about the time of the query.
 */
static int revalidate(struct symbolizer *s, const struct code_query *q, struct entry *e)
{
	__u64 generation = s->seen_generation;
	struct code_head head;
	int err;

	if (q->fingerprint || e->interp_addr != q->interp_addr)
		return 0;
	if (q->code_generation < e->first_generation)
		return -EAGAIN;
	if (s->seen_interp_addr != q->interp_addr || generation < q->code_generation) {
		err = read_generation(s, q, &generation);
		if (err)
			return err;
	}
	err = code_head_read(&s->memory, &s->offsets, q->code_addr, &head);
	if (err)
		return err;
	s->stats.revalidations++;
	if (!code_head_equal(&head, &e->head))
		return 0;
	if (!head.alive)
		return -EAGAIN;
	/* The generation that is going on may yet see another object here. */
	e->end_generation = generation > q->code_generation ? generation : generation + 1;
	e->used = true;
	return 1;
}

/* Reads the object into e. *ret_proved says whether it is the one of the query. */
static int read_entry(struct symbolizer *s, const struct code_query *q, struct entry *e,
		      bool *ret_proved)
{
	struct code_head again;
	__u64 generation = 0;
	int err;

	err = code_head_read(&s->memory, &s->offsets, q->code_addr, &e->head);
	if (err)
		return err;
	if (q->fingerprint && e->head.fingerprint != q->fingerprint)
		return -EAGAIN;
	s->stats.reads++;
	err = code_head_check_type(&s->memory, &s->offsets, &e->head, s->type_addr);
	if (!err && !e->head.alive)
		err = -EAGAIN;
	if (!err)
		err = code_body_read(&s->memory, &s->offsets, &e->head, &e->body);
	if (!err && has_generation(s) && (q->interp_addr || !q->fingerprint))
		err = read_generation(s, q, &generation);
	if (err)
		return err;

	e->code_addr = q->code_addr;
	e->last_instr_off = FRAME_INSTR_UNKNOWN;
	e->last_position = (struct source_position){ -1, -1, -1, -1 };
	e->interp_addr = has_generation(s) ? q->interp_addr : 0;
	e->first_generation = e->end_generation = generation;
	if (e->interp_addr && generation == q->code_generation) {
		e->end_generation++;
		*ret_proved = true;
		return 0;
	}
	*ret_proved = q->fingerprint || !has_generation(s);
	err = code_head_read(&s->memory, &s->offsets, q->code_addr, &again);
	if (!err && (!again.alive || !code_head_equal(&again, &e->head)))
		err = -EAGAIN;
	return err;
}

static int load(struct symbolizer *s, const struct code_query *q, struct entry **ret)
{
	struct entry *e = calloc(1, sizeof(*e));
	bool proved;
	int err;

	if (!e)
		return -ENOMEM;
	err = read_entry(s, q, e, &proved);
	if (err) {
		entry_free(e);
		return err;
	}
	s->type_addr = e->head.type_addr;
	err = insert(s, e);
	if (err)
		return err;
	if (!proved)
		return -EAGAIN;
	*ret = e;
	return 0;
}

/* Whether what is at the address need not be what was there at the interrupt. */
static bool is_past(struct symbolizer *s, const struct code_query *q)
{
	__u64 generation;

	return has_generation(s) && !read_generation(s, q, &generation) &&
	       generation != q->code_generation;
}

static enum symbol_status consult_memory(struct symbolizer *s, const struct code_query *q,
					 struct entry **e)
{
	int err = *e ? revalidate(s, q, *e) : 0;

	if (err == 0)
		err = load(s, q, e);
	if (err == -EAGAIN || (err == -EINVAL && is_past(s, q))) {
		s->stats.stale++;
		return SYMBOL_STALE;
	}
	if (err < 0) {
		if (err != -ENOMEM)
			refuse(s, q);
		s->stats.unreadable++;
		return SYMBOL_UNREADABLE;
	}
	return SYMBOL_OK;
}

enum symbol_status symbolizer__resolve(struct symbolizer *s, const struct code_query *query,
				       struct code_symbol *ret_code,
				       struct source_position *ret_position)
{
	struct entry *e = find(s, query->code_addr);

	if (e && is_proved(s, e, query)) {
		e->used = true;
		s->stats.hits++;
	} else if (is_refused(s, query)) {
		s->stats.unreadable++;
		return SYMBOL_UNREADABLE;
	} else {
		enum symbol_status status = consult_memory(s, query, &e);

		if (status != SYMBOL_OK)
			return status;
	}
	*ret_code = (struct code_symbol){ e->body.qualname, e->body.filename, e->head.first_line,
					  e->serial };
	if (e->last_instr_off != query->instr_off) {
		/* Two bytes a unit; what is below 0 is beyond any table as unsigned. */
		e->last_position = linetable_lookup(&e->body.lines, (__u32)query->instr_off / 2);
		e->last_instr_off = query->instr_off;
	}
	*ret_position = e->last_position;
	return SYMBOL_OK;
}

const struct symbolizer_stats *symbolizer__stats(const struct symbolizer *s)
{
	return &s->stats;
}
