/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Proves that a cached or freshly read code object is the one that was interrupted.
 *
 * A query says that a code object was alive at an address at the moment of an interrupt. What is
 * there now need not be that object, and need not be alive: the memory of a dead one stays
 * unchanged until it is reused. There are three proofs, and no answer without one:
 *  - the fingerprint taken in the interrupt equals that of the object now alive there;
 *  - code_object_generation, which grows when any code object of the interpreter dies, still has
 *    the value of the interrupt after everything was read: so nothing died meanwhile;
 *  - the same head (with co_version, which no two objects share) was there before the interrupt and
 *    is there after it.
 *
 * One case escapes all of them: CPython gives a new object its type and a reference before it fills
 * it, so for some 50 ns it looks like the dead one that was there, while new strings may have
 * replaced that one's. It takes a target that loses its CPU just then (3.13, new objects all the
 * time, four programs on two CPUs: 1 name in 8,000 looks). What the kernel has described in the
 * interrupt, so nearly everything, is not looked up in this way, and wins if the two disagree.
 *
 * So an entry has a range of generations, from that of its first proof or sighting to that of the
 * last. A look that finds the head unchanged extends the range to the query's generation, and to
 * all that had ended when the look began: no more interrupts from those can come. In a program that
 * creates and drops code objects all the time, this keeps the names of all others at the cost of
 * one look for each new generation. There, no first look is proved by its generation; that query is
 * stale, and the entry counts as a first sighting for later ones.
 *
 * If the layout has no generation and the query no fingerprint, nothing can be proved: the address
 * alone decides. The kernel side takes fingerprints for all such layouts, so this is only for tools
 * that stop the target.
 */
#include "python/code/code_reader.h"

#include <errno.h>
#include <stdlib.h>

#include "python/code/code_cache.h"
#include "base/data/cleanup.h"

static bool has_generation(const struct code_reader *r)
{
	return r->offsets.interp.code_object_generation != PYOFF_ABSENT;
}

/* -EAGAIN: it is lower than at the interrupt, so it is not a generation. */
static int read_generation(struct code_reader *r, const struct code_query *q, __u64 *ret)
{
	__u64 generation;
	int err;

	if (!q->interp_addr)
		return -EINVAL;
	err = memory_read(&r->memory,
			  q->interp_addr + (__u64)r->offsets.interp.code_object_generation,
			  &generation, sizeof(generation));
	if (err)
		return err;
	if (generation < q->code_generation)
		return -EAGAIN;
	r->seen_interp_addr = q->interp_addr;
	r->seen_generation = generation;
	*ret = generation;
	return 0;
}

/* Lengths of names and line tables to expect: nearly all are shorter; longer ones are read by themselves. */
#define NAME_EXPECTED 1024
#define TABLE_EXPECTED 8192

/* Reads the head, and expects the body; forget() ends that. */
static int read_head(struct code_reader *r, __u64 code_addr, struct code_head *ret)
{
	const struct py_offsets *o = &r->offsets;
	const __s32 name = o->code.qualname == PYOFF_ABSENT ? o->code.name : o->code.qualname;
	const struct {
		__s32 offset;
		__u32 size;
	} pointers[MEMORY_TRAIL_MAX] = { { name, NAME_EXPECTED },
					 { o->code.filename, NAME_EXPECTED },
					 { o->code.linetable, TABLE_EXPECTED } };
	struct memory_trail trail = { .len = (__u32)PYOFF_CODE_WINDOW(o) };

	for (unsigned i = 0; i < MEMORY_TRAIL_MAX; i++) {
		if (pointers[i].offset < 0 || (__u32)pointers[i].offset + 8 > trail.len)
			continue;
		trail.to[trail.cnt].offset = (__u32)pointers[i].offset;
		trail.to[trail.cnt++].size = pointers[i].size;
	}
	memory_expect(&r->memory, code_addr, &trail);
	return code_head_read(&r->memory, o, code_addr, ret);
}

static void forget(struct code_reader *r)
{
	memory_expect(&r->memory, 0, NULL);
}

bool code_reader_is_proved(const struct code_reader *r, const struct code_entry *e,
			   const struct code_query *q)
{
	if (q->fingerprint)
		return e->head.fingerprint == q->fingerprint;
	if (!has_generation(r))
		return true;
	return e->interp_addr == q->interp_addr && e->first_generation <= q->code_generation &&
	       q->code_generation < e->end_generation;
}

int code_reader_revalidate(struct code_reader *r, const struct code_query *q, struct code_entry *e)
{
	__u64 generation = r->seen_generation;
	struct code_head head;
	int err;

	if (q->fingerprint || e->interp_addr != q->interp_addr)
		return 0;
	if (q->code_generation < e->first_generation)
		return -EAGAIN;
	if (r->seen_interp_addr != q->interp_addr || generation < q->code_generation) {
		err = read_generation(r, q, &generation);
		if (err)
			return err;
	}
	err = read_head(r, q->code_addr, &head);
	forget(r);
	if (err)
		return err;
	r->revalidations++;
	if (!code_head_equal(&head, &e->head))
		return 0;
	if (!head.alive)
		return -EAGAIN;
	/* The current generation may yet see another object here. */
	e->end_generation = generation > q->code_generation ? generation : generation + 1;
	e->used = true;
	return 1;
}

static int read_entry(struct code_reader *r, const struct code_query *q, struct code_entry *e,
		      bool *ret_proved)
{
	struct code_head again;
	__u64 generation = 0;
	int err;

	err = read_head(r, q->code_addr, &e->head);
	if (err)
		return err;
	if (q->fingerprint && e->head.fingerprint != q->fingerprint)
		return -EAGAIN;
	r->reads++;
	err = code_head_check_type(&r->memory, &r->offsets, &e->head, r->type_addr);
	if (!err && !e->head.alive)
		err = -EAGAIN;
	if (!err)
		err = code_body_read(&r->memory, &r->offsets, &e->head, &e->body);
	if (!err && has_generation(r) && (q->interp_addr || !q->fingerprint))
		err = read_generation(r, q, &generation);
	if (err)
		return err;

	e->code_addr = q->code_addr;
	e->last_instr_off = FRAME_INSTR_UNKNOWN;
	e->last_position = (struct source_position){ -1, -1, -1, -1 };
	e->interp_addr = has_generation(r) ? q->interp_addr : 0;
	e->first_generation = e->end_generation = generation;
	if (e->interp_addr && generation == q->code_generation) {
		e->end_generation++;
		*ret_proved = true;
		return 0;
	}
	*ret_proved = q->fingerprint || !has_generation(r);
	err = read_head(r, q->code_addr, &again);
	if (!err && (!again.alive || !code_head_equal(&again, &e->head)))
		err = -EAGAIN;
	return err;
}

int code_reader_read(struct code_reader *r, const struct code_query *q, struct code_entry *e,
		     bool *ret_proved)
{
	int err = read_entry(r, q, e, ret_proved);

	forget(r);
	return err;
}

bool code_reader_is_past(struct code_reader *r, const struct code_query *q)
{
	__u64 generation;

	return has_generation(r) && !read_generation(r, q, &generation) &&
	       generation != q->code_generation;
}

int code_reader_read_defined(struct code_reader *r, const struct record_code *record,
			     struct code_entry *e)
{
	const struct code_query query = {
		.code_addr = record->code_addr,
		.fingerprint = record->fingerprint,
		.instr_off = FRAME_INSTR_UNKNOWN,
	};
	bool proved;
	int err = code_reader_read(r, &query, e, &proved);

	return err || proved ? err : -EAGAIN;
}

/*
 * Where its bytecode begins: inside it (3.11+), or in a separate object. Free-threaded: its own,
 * not a thread's copy.
 */
static int bytecode_addr(const struct code_reader *r, __u64 code_addr, __u64 *ret)
{
	const struct py_offsets *o = &r->offsets;

	*ret = code_addr + (__u64)o->code.code_adaptive;
	if (o->frame_kind != PY_FRAME_OBJECT)
		return 0;
	if (o->code.bytecode == PYOFF_ABSENT)
		return -ENOENT;
	if (memory_read(&r->memory, code_addr + (__u64)o->code.bytecode, ret, sizeof(*ret)))
		return -ENOENT;
	*ret += (__u64)o->bytes.ob_sval;
	return 0;
}

int code_reader_opcodes(struct code_reader *r, const struct code_entry *e, __u8 *ret,
			__u32 unit_cnt)
{
	cleanup_free __u8 *units = malloc(2 * (size_t)unit_cnt + 1);
	struct code_head now;
	__u64 addr;
	int err;

	if (!units)
		return -ENOMEM;
	err = bytecode_addr(r, e->code_addr, &addr);
	if (!err)
		err = memory_read(&r->memory, addr, units, 2 * (size_t)unit_cnt);
	if (!err)
		err = read_head(r, e->code_addr, &now);
	forget(r);
	if (err)
		return err;
	if (!now.alive || !code_head_equal(&now, &e->head))
		return -ENOENT;
	for (__u32 i = 0; i < unit_cnt; i++)
		ret[i] = units[2 * (size_t)i];
	return 0;
}
