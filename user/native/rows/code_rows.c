/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/rows/code_rows.h"

#include <stdbool.h>
#include <string.h>

#include "bpf/native/rows.h"
#include "native/rows/code_state.h"
#include "native/rows/row_table.h"

#define PAGE 4096U
/* Per function; with more rows it gets none. A long trace of CPython's JIT has a thousand. */
#define ROWS_MAX 2048
#define TARGETS_MAX 2048
/* Steps for all functions together: code made to take long gets no rows. */
#define LOOKS_MAX (1U << 27)
struct target {
	__u64 at;
	struct code_state state;
	bool met;
	bool guessed; /* only a guess leads there */
};

/*
 * Code after a jump, when some branch leads further on: usually the end of a loop, to which a later
 * branch goes back. It is assumed to have the state at the jump, until a branch from elsewhere
 * proves it.
 */
#define GUESSES_MAX 64
/* It must be proved within this many bytes. */
#define GUESS_REACH 1024
/* Guesses pending at once: loops within loops. */
#define UNPROVED_MAX 8
struct guess {
	__u64 at;
	bool proved;
};

struct function {
	const __u8 *code;
	__u64 size, pos;
	__u64 stop; /* behind the last instruction, without padding */
	struct code_state state;
	bool reached; /* by the preceding code */
	bool returns;
	struct target targets[TARGETS_MAX];
	unsigned target_cnt;
	struct {
		__u64 at;
		struct code_state state;
	} rows[ROWS_MAX];
	unsigned row_cnt;
	struct guess guesses[GUESSES_MAX];
	unsigned guess_cnt, proved_cnt; /* proved_cnt: the leading ones that are proved */
	bool guessing; /* only a guess leads to pos */
	__u64 offset; /* of the code in its table */
	__u64 begin;
	__u64 called; /* target of the last forward call; ~0: none */
	bool is_inner; /* without the usual convention: code_state.h */
	__u32 looks;
	/* where it may end, behind a call; 0: nowhere */
	__u64 end;
	unsigned end_row_cnt;
	const struct row_table *known; /* of what is before it */
};

/* Is the state as at the call? */
static bool is_left(const struct function *f)
{
	return code_state_is_left(&f->state, f->is_inner);
}

/* ---- branches --------------------------------------------------------------------------------- */

/* The known state at a position that was already passed. */
static const struct code_state *passed(struct function *f, __u64 at)
{
	const struct code_state *s = NULL;

	f->looks += f->row_cnt;
	for (unsigned i = 0; i < f->row_cnt && f->rows[i].at <= at; i++)
		s = &f->rows[i].state;
	return s;
}

/* If the source of the branch is certain, a guess at its target is proved. */
static bool branch_back(struct function *f, __u64 to)
{
	f->looks += f->guess_cnt;
	for (unsigned i = 0; i < f->guess_cnt && !f->guessing; i++)
		if (f->guesses[i].at == to)
			f->guesses[i].proved = true;
	return code_state_same(passed(f, to), &f->state);
}

/* Into a function before this one: is its stack there as here? */
static bool branch_out(const struct function *f, __u64 to)
{
	const struct unwind_rule *rule = row_table_find(f->known, f->offset + to),
				 here = code_state_rule(&f->state);

	return rule && !memcmp(rule, &here, sizeof(here));
}

static bool branch(struct function *f, __s64 to)
{
	struct target *t;

	/*
	 * A jump out of this code is a tail call. A jump to another part of it that is not known means that this
	 * was only part of a function, with an unknown stack.
	 */
	if (to < 0 || to >= (__s64)f->size)
		return is_left(f);
	if (to < (__s64)f->begin)
		return branch_out(f, (__u64)to);
	if (to < (__s64)f->pos)
		return branch_back(f, (__u64)to);
	for (unsigned i = 0; i < f->target_cnt; i++)
		if (f->targets[i].at == (__u64)to) {
			f->targets[i].guessed = f->targets[i].guessed && f->guessing;
			return code_state_same(&f->targets[i].state, &f->state);
		}
	f->looks += f->target_cnt;
	if (f->target_cnt == TARGETS_MAX)
		return false;
	t = &f->targets[f->target_cnt++];
	*t = (struct target){ .at = (__u64)to, .state = f->state, .guessed = f->guessing };
	return true;
}

/* Merges the branches that lead here. False: their states differ. */
static bool meet(struct function *f)
{
	f->looks += f->target_cnt;
	for (unsigned i = 0; i < f->target_cnt; i++) {
		struct target *t = &f->targets[i];

		if (t->at != f->pos)
			continue;
		t->met = true;
		f->guessing = t->guessed && (f->guessing || !f->reached);
		if (f->reached)
			return code_state_same(&t->state, &f->state);
		f->state = t->state;
		f->reached = true;
	}
	return true;
}

/*
 * Has all of it been passed, and does it return somewhere? jumps_on: what jumps further on with the stack as at the call
 * leads to another function.
 */
static bool is_whole(const struct function *f, bool jumps_on)
{
	for (unsigned i = 0; i < f->target_cnt; i++)
		if (!f->targets[i].met &&
		    !(jumps_on && code_state_is_left(&f->targets[i].state, f->is_inner)))
			return false;
	for (unsigned i = 0; i < f->guess_cnt; i++)
		if (!f->guesses[i].proved)
			return false;
	return f->returns;
}

/* ---- instructions ----------------------------------------------------------------------------- */

/* Applies one instruction. False: it makes no sense here. */
static bool step(struct function *f, const struct code_insn *x)
{
	switch (x->kind) {
	case CODE_JCC:
		return branch(f, (__s64)f->pos + x->value);
	case CODE_JMP:
		f->reached = false;
		return branch(f, (__s64)f->pos + x->value);
	case CODE_JMP_BY_REG:
	case CODE_TRAP:
		f->reached = false;
		return true;
	case CODE_JMP_BY_GOT:
	case CODE_RET:
		f->reached = false;
		f->returns = true;
		return is_left(f) ||
		       (x->kind == CODE_JMP_BY_GOT && code_state_is_binding(&f->state));
	case CODE_CALL:
		if (x->value > 0)
			f->called = f->pos + (__u64)x->value;
		return code_state_apply(&f->state, x);
	case CODE_NOP:
		return true;
	default:
		return x->kind != CODE_BAD && code_state_apply(&f->state, x);
	}
}

static bool note(struct function *f)
{
	if (f->row_cnt && code_state_same(&f->rows[f->row_cnt - 1].state, &f->state))
		return true;
	if (f->row_cnt == ROWS_MAX)
		return false;
	f->rows[f->row_cnt].at = f->pos;
	f->rows[f->row_cnt++].state = f->state;
	return true;
}

/* After a call that never returns there is only padding up to other code. */
static bool comes_back(const struct function *f)
{
	return code_insn(f->code + f->pos, f->size - f->pos).kind != CODE_NOP;
}

/*
 * Does other code begin after this call, without padding? If so, it makes no sense as a part of this function, which would
 * have to return once more.
 */
static void note_end(struct function *f)
{
	if (f->end || (f->offset + f->pos) % CODE_ALIGNMENT || !is_whole(f, false))
		return;
	f->end = f->pos;
	f->end_row_cnt = f->row_cnt;
	f->returns = false;
}

/* Skips one byte or instruction of padding. False: it is something else, or the end. */
static bool skip_filling(struct function *f)
{
	__u64 len = f->pos < f->size ? code_filling(f->code + f->pos, f->size - f->pos) : 0;

	f->pos += len;
	return len;
}

/*
 * Assumes that the code at pos, which nothing leads to, continues with the preceding state; that
 * must be proved later.
 */
static bool guess(struct function *f)
{
	if (f->guess_cnt == GUESSES_MAX || f->guess_cnt - f->proved_cnt == UNPROVED_MAX)
		return false;
	f->guesses[f->guess_cnt++] = (struct guess){ .at = f->pos };
	f->guessing = f->reached = true;
	return true;
}

/* Should the first unproved guess have been proved by now? */
static bool has_guessed_wrong(struct function *f)
{
	while (f->proved_cnt < f->guess_cnt && f->guesses[f->proved_cnt].proved)
		f->proved_cnt++;
	return f->proved_cnt < f->guess_cnt && f->pos - f->guesses[f->proved_cnt].at > GUESS_REACH;
}

/*
 * Nothing leads to pos. Returns 1: the function has ended; 0: continue at pos, which has moved; -1:
 * contradiction.
 */
static int pass_gap(struct function *f)
{
	if (is_whole(f, false))
		return 1;
	if (skip_filling(f))
		return 0;
	if (is_whole(f, true))
		return 1;
	/* Another function, into which this one jumps: both are read as one. */
	if (f->returns && code_is_prologue(f->code + f->pos, f->size - f->pos)) {
		f->state = code_state_begin(f->is_inner);
		f->reached = true;
		f->returns = false;
		return 0;
	}
	return f->target_cnt && guess(f) ? 0 : -1;
}

static bool read_whole(struct function *f)
{
	f->begin = f->pos;
	f->state = code_state_begin(f->is_inner);
	f->reached = true;
	f->target_cnt = f->row_cnt = f->guess_cnt = f->proved_cnt = 0;
	f->guessing = false;
	f->returns = false;
	f->end = 0;
	while (f->pos < f->size) {
		struct code_insn x;

		if (f->looks > LOOKS_MAX || has_guessed_wrong(f) || !meet(f))
			return false;
		if (!f->reached) {
			int gap = pass_gap(f);

			if (gap)
				return gap > 0;
			continue;
		}
		if (!note(f))
			return false;
		x = code_insn(f->code + f->pos, f->size - f->pos);
		if (x.kind == CODE_BAD)
			return false;
		f->pos += x.len;
		f->stop = f->pos;
		if (!step(f, &x) || (x.kind == CODE_CALL && !comes_back(f)))
			return false;
		if (code_state_is_lost(&f->state))
			return false;
		if (x.kind == CODE_CALL)
			note_end(f);
	}
	/* It continues where we cannot look. */
	return !f->reached && is_whole(f, true);
}

static bool read_as(struct function *f, bool is_inner)
{
	f->is_inner = is_inner;
	if (read_whole(f))
		return true;
	if (!f->end)
		return false;
	f->pos = f->stop = f->end;
	f->row_cnt = f->end_row_cnt;
	return true;
}

/* Reads the function at f->pos, and moves pos behind it. False: it is inconsistent. */
static bool read_function(struct function *f)
{
	__u64 begin = f->pos;

	if (read_as(f, !CODE_INNER_ANYWHERE && begin == f->called))
		return true;
	if (!CODE_INNER_ANYWHERE)
		return false;
	f->pos = begin;
	return read_as(f, true);
}

/* ---- rows ------------------------------------------------------------------------------------- */

static void put_rows(const struct function *f, __u64 offset, struct row_table *t)
{
	for (unsigned i = 0; i < f->row_cnt; i++) {
		struct unwind_rule rule = code_state_rule(&f->rows[i].state);

		row_table_put(t, offset + f->rows[i].at, &rule);
	}
	row_table_put_none(t, offset + f->stop);
}

/* Skips padding after the end of a function. */
static void skip_padding(struct function *f)
{
	while (skip_filling(f))
		;
}

/* In the middle of something: skips to its end, if that can be determined. Data is followed by padding, too. */
static void skip_unknown(struct function *f, __u64 offset)
{
	while (f->pos < f->size) {
		struct code_insn x = code_insn(f->code + f->pos, f->size - f->pos);
		__u64 page = ((offset + f->pos) / PAGE + 1) * PAGE - offset;

		f->pos += x.kind == CODE_BAD ? CODE_STEP : x.len;
		if (skip_filling(f))
			return;
		if (f->pos < f->size && code_is_prologue(f->code + f->pos, f->size - f->pos))
			return;
		if (f->pos >= page && page < f->size &&
		    code_is_trace(f->code + page, f->size - page)) {
			f->pos = page;
			return;
		}
		if (x.kind == CODE_RET || x.kind == CODE_JMP || x.kind == CODE_JMP_BY_REG ||
		    x.kind == CODE_JMP_BY_GOT || x.kind == CODE_TRAP)
			return;
	}
}

/* A trace of CPython's JIT (3.13, 3.14) directly follows the function that calls it. */
static bool may_begin(const struct function *f)
{
	return !((f->offset + f->pos) % CODE_ALIGNMENT) || f->pos == f->called;
}

void code_rows(const __u8 *code, __u64 size, __u64 offset, struct row_table *t)
{
	struct function f = {
		.code = code, .size = size, .offset = offset, .called = ~0ULL, .known = t
	};

	while (f.pos < size && !t->err && f.looks < LOOKS_MAX) {
		__u64 begin;

		skip_padding(&f);
		begin = f.pos;
		if (begin < size && may_begin(&f) && read_function(&f)) {
			put_rows(&f, offset, t);
			f.guess_cnt = 0;
			continue;
		}
		/* The guessed code may have been another function. */
		if (f.guess_cnt) {
			f.looks += f.pos - f.guesses[0].at;
			f.pos = f.guesses[0].at;
			f.guess_cnt = 0;
			continue;
		}
		if (f.pos == begin ||
		    (f.pos < size && !code_is_prologue(code + f.pos, size - f.pos)))
			skip_unknown(&f, offset);
		if (f.pos == begin)
			f.pos += CODE_STEP;
	}
}
int code_rows_fit(__u64 offset, __u64 size)
{
	__u64 skip = -offset & (CODE_ALIGNMENT - 1);

	return size >= CODE_FUNCTION_MIN && skip <= size - CODE_FUNCTION_MIN;
}
