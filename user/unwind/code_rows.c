/* SPDX-License-Identifier: BSD-2-Clause */
#include "unwind/code_rows.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "rows.h"
#include "unwind/cfi.h"
#include "unwind/row_table.h"

#ifdef __x86_64__
#include "unwind/x86_insn.h"

/* Where a function begins. */
#define ALIGNMENT 16
/* Of one function: more, and it has no rows. */
#define ROWS_MAX 512
#define TARGETS_MAX 512
/* Looks at what was noted, for all functions together: code that is made to take long has no rows. */
#define LOOKS_MAX (1U << 26)
/* Deeper than any frame that somebody has written by hand. */
#define DEPTH_MAX (1 << 20)

/* Where a register's value in the caller is. */
enum place { IN_REGISTER, SAVED, LOST };

struct kept {
	__u8 place; /* enum place */
	__s32 at; /* SAVED: from the CFA, below 0 */
};

struct state {
	__s32 depth; /* CFA - rsp */
	__s32 fp_depth; /* CFA - rbp, where has_fp */
	bool has_fp;
	bool by_fp; /* nobody knows where rsp is: the CFA is found by rbp */
	struct kept rbp, rbx;
};

struct target {
	__u64 at;
	struct state state;
	bool met;
};

struct function {
	const __u8 *code;
	__u64 size, pos;
	struct state state;
	bool reached; /* by what comes before */
	bool returns;
	struct target targets[TARGETS_MAX];
	unsigned target_cnt;
	struct {
		__u64 at;
		struct state state;
	} rows[ROWS_MAX];
	unsigned row_cnt;
	__u64 begin;
	__u32 looks;
};

static bool same(const struct state *a, const struct state *b)
{
	return a->depth == b->depth && a->has_fp == b->has_fp && a->by_fp == b->by_fp &&
	       (!a->has_fp || a->fp_depth == b->fp_depth) && a->rbp.place == b->rbp.place &&
	       a->rbp.at == b->rbp.at && a->rbx.place == b->rbx.place && a->rbx.at == b->rbx.at;
}

static const struct state at_entry = { .depth = 8 };

/* As at the call: a jump from here is one to another function. */
static bool is_left(const struct state *s)
{
	return s->depth == 8 && !s->by_fp && s->rbp.place != LOST && s->rbx.place != LOST;
}

/* ---- branches --------------------------------------------------------------------------------- */

/* What holds at a place that was passed already. */
static const struct state *passed(struct function *f, __u64 at)
{
	const struct state *s = NULL;

	f->looks += f->row_cnt;
	for (unsigned i = 0; i < f->row_cnt && f->rows[i].at <= at; i++)
		s = &f->rows[i].state;
	return s;
}

static bool branch(struct function *f, __s64 to)
{
	struct target *t;

	/* Out of this code: a tail call. Into other parts of it: this was a part of a function, and its stack another. */
	if (to < 0 || to >= (__s64)f->size)
		return is_left(&f->state);
	if (to < (__s64)f->begin)
		return false;
	if (to < (__s64)f->pos)
		return same(passed(f, (__u64)to), &f->state);
	for (unsigned i = 0; i < f->target_cnt; i++)
		if (f->targets[i].at == (__u64)to)
			return same(&f->targets[i].state, &f->state);
	f->looks += f->target_cnt;
	if (f->target_cnt == TARGETS_MAX)
		return false;
	t = &f->targets[f->target_cnt++];
	*t = (struct target){ .at = (__u64)to, .state = f->state };
	return true;
}

/* Ways that come from above. False: they do not agree. */
static bool meet(struct function *f)
{
	f->looks += f->target_cnt;
	for (unsigned i = 0; i < f->target_cnt; i++) {
		struct target *t = &f->targets[i];

		if (t->at != f->pos)
			continue;
		t->met = true;
		if (f->reached)
			return same(&t->state, &f->state);
		f->state = t->state;
		f->reached = true;
	}
	return true;
}

/* All of it has been passed, and somewhere it returns. */
static bool is_whole(const struct function *f)
{
	for (unsigned i = 0; i < f->target_cnt; i++)
		if (!f->targets[i].met)
			return false;
	return f->returns;
}

/* ---- instructions ----------------------------------------------------------------------------- */

static struct kept *kept_of(struct state *s, __u8 reg)
{
	return reg == X86_RBP ? &s->rbp : reg == X86_RBX ? &s->rbx : NULL;
}

/* It has another value now. */
static void overwrite(struct state *s, __u8 reg)
{
	struct kept *k = kept_of(s, reg);

	if (k && k->place == IN_REGISTER)
		*k = (struct kept){ .place = LOST };
	if (reg == X86_RBP)
		s->has_fp = false;
}

static void store(struct state *s, __u8 reg, __s64 from_cfa)
{
	struct kept *k = kept_of(s, reg);

	if (k && k->place == IN_REGISTER && from_cfa < 0 && from_cfa >= -DEPTH_MAX)
		*k = (struct kept){ .place = SAVED, .at = (__s32)from_cfa };
}

/* From where it was saved: it is the caller's again. Else it is some other value. */
static void load(struct state *s, __u8 reg, __s64 from_cfa)
{
	struct kept *k = kept_of(s, reg);

	if (k && k->place == SAVED && k->at == from_cfa) {
		*k = (struct kept){ .place = IN_REGISTER };
		if (reg == X86_RBP)
			s->has_fp = false;
		return;
	}
	overwrite(s, reg);
}

static bool set_depth(struct state *s, __s64 depth)
{
	if (depth < 8 || depth > DEPTH_MAX)
		return false;
	s->depth = (__s32)depth;
	return true;
}

/* rsp = rbp + value. */
static bool sp_from_fp(struct state *s, __s64 value)
{
	if (!s->has_fp)
		return false;
	s->by_fp = false;
	return set_depth(s, s->fp_depth - value);
}

static bool pop(struct state *s, __u8 reg)
{
	if (s->by_fp || reg == X86_RSP)
		return false;
	load(s, reg, -(__s64)s->depth);
	return set_depth(s, (__s64)s->depth - 8);
}

/* Of one instruction. False: it makes no sense here. */
static bool step(struct function *f, const struct x86_insn *x)
{
	struct state *s = &f->state;

	switch (x->kind) {
	case X86_PUSH:
		if (!s->by_fp)
			store(s, x->reg, -(__s64)s->depth - 8);
		return s->by_fp || set_depth(s, (__s64)s->depth + 8);
	case X86_POP:
		return pop(s, x->reg);
	case X86_ADD_SP:
		return s->by_fp || set_depth(s, s->depth - x->value);
	case X86_SET_FP:
		overwrite(s, X86_RBP);
		if (s->by_fp)
			return false;
		s->has_fp = true;
		s->fp_depth = s->depth;
		return true;
	case X86_SET_SP:
		return sp_from_fp(s, x->value);
	case X86_LEAVE:
		return sp_from_fp(s, 0) && pop(s, X86_RBP);
	case X86_ALIGN_SP:
		s->by_fp = true;
		return s->has_fp;
	case X86_STORE:
		if (!s->by_fp)
			store(s, x->reg, x->value - s->depth);
		return true;
	case X86_LOAD:
		if (s->by_fp)
			overwrite(s, x->reg);
		else
			load(s, x->reg, x->value - s->depth);
		return true;
	case X86_JCC:
		return branch(f, (__s64)f->pos + x->value);
	case X86_JMP:
		f->reached = false;
		return branch(f, (__s64)f->pos + x->value);
	case X86_JMP_BY_REG:
	case X86_TRAP:
		f->reached = false;
		return true;
	case X86_JMP_BY_GOT:
	case X86_RET:
		f->reached = false;
		f->returns = true;
		return is_left(s);
	case X86_CALL:
	case X86_NOP:
		return true;
	case X86_OTHER:
		overwrite(s, x->written);
		overwrite(s, x->written_too);
		return true;
	default:
		return false;
	}
}

static bool note(struct function *f)
{
	if (f->row_cnt && same(&f->rows[f->row_cnt - 1].state, &f->state))
		return true;
	if (f->row_cnt == ROWS_MAX)
		return false;
	f->rows[f->row_cnt].at = f->pos;
	f->rows[f->row_cnt++].state = f->state;
	return true;
}

/* Behind a call that does not come back there is nothing but what fills the room up to other code. */
static bool comes_back(const struct function *f)
{
	return x86_insn(f->code + f->pos, f->size - f->pos).kind != X86_NOP;
}

/* From f->pos on, which is behind it then. False: it does not add up. */
static bool read_function(struct function *f)
{
	f->begin = f->pos;
	f->state = at_entry;
	f->reached = true;
	f->target_cnt = f->row_cnt = 0;
	f->returns = false;
	while (f->pos < f->size) {
		struct x86_insn x;

		if (f->looks > LOOKS_MAX || !meet(f))
			return false;
		if (!f->reached)
			return is_whole(f);
		if (!note(f))
			return false;
		x = x86_insn(f->code + f->pos, f->size - f->pos);
		if (x.kind == X86_BAD)
			return false;
		f->pos += x.len;
		if (!step(f, &x) || (x.kind == X86_CALL && !comes_back(f)))
			return false;
	}
	/* It goes on where nobody can look. */
	return !f->reached && is_whole(f);
}

/* ---- rows ------------------------------------------------------------------------------------- */

static struct unwind_rule rule_of(const struct state *s)
{
	struct unwind_rule r = {
		.cfa = UNWIND_CFA_REG,
		.reg = s->by_fp ? CFI_REG_FP : CFI_REG_SP,
		.off = s->by_fp ? s->fp_depth : s->depth,
		.ra = UNWIND_RA_CFA,
		.ra_off = -8,
		.fp = UNWIND_FP_UNKNOWN,
		.base_off = UNWIND_BASE_UNKNOWN,
	};

	if (s->rbp.place == IN_REGISTER)
		r.fp = UNWIND_FP_SAME;
	if (s->rbp.place == SAVED && s->rbp.at >= INT16_MIN) {
		r.fp = UNWIND_FP_CFA;
		r.fp_off = (__s16)s->rbp.at;
	}
	if (s->rbx.place == IN_REGISTER)
		r.base_off = 0;
	if (s->rbx.place == SAVED && s->rbx.at > INT16_MIN)
		r.base_off = (__s16)s->rbx.at;
	return r;
}

static void put_rows(const struct function *f, __u64 offset, struct row_table *t)
{
	for (unsigned i = 0; i < f->row_cnt; i++) {
		struct unwind_rule rule = rule_of(&f->rows[i].state);

		row_table_put(t, offset + f->rows[i].at, &rule);
	}
	row_table_put_none(t, offset + f->pos);
}

/* Behind the end of a function, and what fills the room up to the next one. */
static void skip_padding(struct function *f)
{
	while (f->pos < f->size) {
		struct x86_insn x;

		if (!f->code[f->pos] || f->code[f->pos] == 0xcc) {
			f->pos++;
			continue;
		}
		x = x86_insn(f->code + f->pos, f->size - f->pos);
		if (x.kind != X86_NOP)
			return;
		f->pos += x.len;
	}
}

/* In the middle of something: to where it ends, if that can be told. */
static void skip_unknown(struct function *f)
{
	while (f->pos < f->size) {
		struct x86_insn x = x86_insn(f->code + f->pos, f->size - f->pos);

		f->pos += x.kind == X86_BAD ? 1 : x.len;
		if (x.kind == X86_RET || x.kind == X86_JMP || x.kind == X86_JMP_BY_REG ||
		    x.kind == X86_JMP_BY_GOT || x.kind == X86_TRAP)
			return;
	}
}

void code_rows(const __u8 *code, __u64 size, __u64 offset, struct row_table *t)
{
	struct function f = { .code = code, .size = size };

	while (f.pos < size && !t->err && f.looks < LOOKS_MAX) {
		__u64 begin;

		skip_padding(&f);
		begin = f.pos;
		if (begin < size && !((offset + begin) % ALIGNMENT) && read_function(&f)) {
			put_rows(&f, offset, t);
			continue;
		}
		if (f.pos < size)
			skip_unknown(&f);
		if (f.pos == begin)
			f.pos++;
	}
}
#else
/* Frame pointers are kept everywhere. */
#define ALIGNMENT 16

void code_rows(const __u8 *code, __u64 size, __u64 offset, struct row_table *t)
{
}
#endif

/* The shortest is a stub of the PLT. */
#define FUNCTION_MIN 6

int code_rows_fit(__u64 offset, __u64 size)
{
	__u64 skip = -offset & (ALIGNMENT - 1);

	return size >= FUNCTION_MIN && skip <= size - FUNCTION_MIN;
}
