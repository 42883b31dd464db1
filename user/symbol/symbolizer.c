/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbolizer.c - the proof that what is cached, or read now, is the object that was interrupted.
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
 * One moment escapes all of them: CPython gives a new object its type and a reference before it fills
 * it, so for some 50 ns it looks like the dead one that was there, while strings have been made where
 * that one's were. It takes a target that loses its CPU just then (3.13, new objects all the time, four
 * programs on two CPUs: 1 name in 8,000 looks). What the kernel has described in the interrupt, so
 * nearly everything, is not looked at in this way, and is believed where the two disagree.
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
 */
#include "symbol/symbolizer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/code_cache.h"
#include "symbol/look_budget.h"
#include "symbol/snapshot.h"
#include "util/cleanup.h"
#include "util/clock.h"

/* Unreadable addresses remembered; a healthy program has none. */
#define REFUSED_CNT 64
/* Then look again: at 1 kHz once a second. */
#define REFUSALS_MAX 1024

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
	struct code_cache cache;
	__u64 type_addr; /* PyCode_Type, 0 until a whole code object was read */
	/* The generation as last read: a lower bound that serves all frames of a batch. */
	__u64 seen_interp_addr, seen_generation;
	struct refused refused[REFUSED_CNT];
	struct look_budget looks;
	struct look_budget *owner_looks; /* of all processes of its owner; NULL none */
	struct symbolizer_stats stats;
};

struct symbolizer *symbolizer__new(const struct py_offsets *offsets, const struct memory *memory)
{
	struct symbolizer *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->offsets = *offsets;
	s->memory = *memory;
	return s;
}

__u32 symbolizer__version(const struct symbolizer *s)
{
	return s->offsets.version;
}

void symbolizer__bound_looks(struct symbolizer *s, __u32 at_once, __u32 per_sec,
			     struct look_budget *owner)
{
	s->looks = look_budget_of(at_once, per_sec);
	s->owner_looks = owner;
}

void symbolizer__free(struct symbolizer *s)
{
	if (!s)
		return;
	code_cache_clear(&s->cache);
	free(s);
}

/* ---- addresses that cannot be read ----------------------------------------------------------- */

static struct refused *refused_slot(struct symbolizer *s, const struct code_query *q)
{
	return &s->refused[code_addr_hash(q->code_addr) % REFUSED_CNT];
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

/* Whether one more look is allowed now. */
static bool take_look(struct symbolizer *s)
{
	if (!look_budget_has(&s->looks) || (s->owner_looks && !look_budget_has(s->owner_looks)))
		return false;
	look_budget_take(&s->looks);
	if (s->owner_looks)
		look_budget_take(s->owner_looks);
	return true;
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

static bool is_proved(const struct symbolizer *s, const struct code_entry *e,
		      const struct code_query *q)
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
static int revalidate(struct symbolizer *s, const struct code_query *q, struct code_entry *e)
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
static int read_entry(struct symbolizer *s, const struct code_query *q, struct code_entry *e,
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

static int load(struct symbolizer *s, const struct code_query *q, struct code_entry **ret)
{
	struct code_entry *e = calloc(1, sizeof(*e));
	bool proved;
	int err;

	if (!e)
		return -ENOMEM;
	err = read_entry(s, q, e, &proved);
	if (err) {
		code_entry_free(e);
		return err;
	}
	s->type_addr = e->head.type_addr;
	err = code_cache_insert(&s->cache, e);
	s->stats.evictions = s->cache.evictions;
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
					 struct code_entry **e)
{
	int err;

	if (!take_look(s)) {
		s->stats.unreadable++;
		return SYMBOL_UNREADABLE;
	}
	err = *e ? revalidate(s, q, *e) : 0;
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

static int read_snapshot(struct symbolizer *s, const struct record_code *record,
			 struct code_entry *e)
{
	return snapshot_read_entry(record, &s->offsets, s->type_addr, e);
}

/* The same object as it is in the target now. */
static int read_defined(struct symbolizer *s, const struct record_code *record,
			struct code_entry *e)
{
	const struct code_query query = {
		.code_addr = record->code_addr,
		.fingerprint = record->fingerprint,
		.instr_off = FRAME_INSTR_UNKNOWN,
	};
	bool proved;
	int err = read_entry(s, &query, e, &proved);

	return err || proved ? err : -EAGAIN;
}

/* The snapshot is the truth; the target may be building another object in the same memory. */
static bool agrees(const struct code_entry *now, const struct code_entry *snapshot)
{
	return !strcmp(now->body.qualname, snapshot->body.qualname) &&
	       !strcmp(now->body.filename, snapshot->body.filename);
}

/* NULL when it cannot be read. */
static struct code_entry *new_entry(struct symbolizer *s, const struct record_code *record,
				    int (*read)(struct symbolizer *, const struct record_code *,
						struct code_entry *))
{
	struct code_entry *e = calloc(1, sizeof(*e));

	if (!e || !read(s, record, e))
		return e;
	code_entry_free(e);
	return NULL;
}

void symbolizer__define(struct symbolizer *s, const struct record_code *record)
{
	struct code_entry *e = code_cache_find(&s->cache, record->code_addr), *now = NULL;

	if (e && e->head.fingerprint == record->fingerprint)
		return;
	e = new_entry(s, record, read_snapshot);
	/* A line table that was too long for a record may still be read from the target. */
	if (!record->has_lines && take_look(s))
		now = new_entry(s, record, read_defined);
	if (now && (!e || agrees(now, e))) {
		code_entry_free(e);
		e = now;
	} else {
		code_entry_free(now);
	}
	if (!e)
		return;
	s->type_addr = e->head.type_addr;
	if (!code_cache_insert(&s->cache, e))
		s->stats.defined++;
	s->stats.evictions = s->cache.evictions;
}

void symbolizer__inherit(struct symbolizer *s, struct symbolizer *parent,
			 const struct record_code *record)
{
	struct code_head head;

	if (!s->type_addr)
		s->type_addr = parent->type_addr;
	if (s->type_addr || !record)
		return;
	if (!snapshot_read_head(record, &s->offsets, &head) &&
	    !code_head_check_type(&parent->memory, &s->offsets, &head, 0))
		s->type_addr = parent->type_addr = head.type_addr;
}

/* Two bytes a unit; what is below 0 is beyond any table as unsigned. */
static struct source_position position_of(const struct code_entry *e, __s32 instr_off)
{
	int line = e->head.first_line;

	/* As PyCode_Addr2Line() does. */
	if (instr_off == FRAME_INSTR_BEFORE)
		return (struct source_position){ line, line, -1, -1 };
	return linetable_lookup(&e->body.lines, (__u32)instr_off / 2);
}

enum symbol_status symbolizer__resolve(struct symbolizer *s, const struct code_query *query,
				       struct code_symbol *ret_code,
				       struct source_position *ret_position)
{
	struct code_entry *e = code_cache_find(&s->cache, query->code_addr);

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
					  e->serial,	    &e->body.lines,   &e->tag };
	if (!ret_position)
		return SYMBOL_OK;
	if (e->last_instr_off != query->instr_off) {
		e->last_position = position_of(e, query->instr_off);
		e->last_instr_off = query->instr_off;
	}
	*ret_position = e->last_position;
	return SYMBOL_OK;
}

/* Where its bytecode begins: in itself (3.11+), or in an object of its own. Free-threaded: its own, not a thread's copy. */
static int bytecode_addr(const struct symbolizer *s, __u64 code_addr, __u64 *ret)
{
	const struct py_offsets *o = &s->offsets;

	*ret = code_addr + (__u64)o->code.code_adaptive;
	if (o->frame_kind != PY_FRAME_OBJECT)
		return 0;
	if (o->code.bytecode == PYOFF_ABSENT)
		return -ENOENT;
	if (memory_read(&s->memory, code_addr + (__u64)o->code.bytecode, ret, sizeof(*ret)))
		return -ENOENT;
	*ret += (__u64)o->bytes.ob_sval;
	return 0;
}

int symbolizer__opcodes(struct symbolizer *s, __u64 code_addr, __u8 *ret, __u32 unit_cnt)
{
	const struct code_entry *e = code_cache_find(&s->cache, code_addr);
	cleanup_free __u8 *units = NULL;
	struct code_head now;
	__u64 addr;
	int err;

	if (!e || unit_cnt > SYMBOLIZER_UNITS_MAX || !take_look(s))
		return -ENOENT;
	units = malloc(2 * (size_t)unit_cnt + 1);
	if (!units)
		return -ENOMEM;
	err = bytecode_addr(s, code_addr, &addr);
	if (!err)
		err = memory_read(&s->memory, addr, units, 2 * (size_t)unit_cnt);
	if (!err)
		err = code_head_read(&s->memory, &s->offsets, code_addr, &now);
	if (err)
		return err;
	if (!now.alive || !code_head_equal(&now, &e->head))
		return -ENOENT;
	for (__u32 i = 0; i < unit_cnt; i++)
		ret[i] = units[2 * (size_t)i];
	return 0;
}

const struct symbolizer_stats *symbolizer__stats(const struct symbolizer *s)
{
	return &s->stats;
}

bool code_symbol_is_internal(const struct code_symbol *code)
{
	return code->first_line == 0 && !strcmp(code->qualname, "__init__") &&
	       !strcmp(code->filename, "__init__");
}
