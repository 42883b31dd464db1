/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/rows/code_rows.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "bpf/native/rows.h"
#include "native/rows/cfi.h"
#include "native/rows/code_state.h"
#include "native/rows/row_table.h"

#ifdef __x86_64__
#include "native/rows/x86_insn.h"

/* Alignment of functions. */
#define ALIGNMENT 16
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
	__u64 begin;
	__u64 called; /* target of the last forward call; ~0: none */
	/* called only from the previous function, without the usual convention: rbx may be anything */
	bool is_inner;
	__u32 looks;
};

/* Is the state as at the call? */
static bool is_left(const struct function *f)
{
	struct code_state s = f->state;

	if (f->is_inner)
		s.rbx.place = IN_REGISTER;
	return code_state_is_left(&s);
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

static bool branch(struct function *f, __s64 to)
{
	struct target *t;

	/*
	 * A jump out of this code is a tail call. A jump to another part of it means that this was
	 * only part of a function, with an unknown stack.
	 */
	if (to < 0 || to >= (__s64)f->size)
		return is_left(f);
	if (to < (__s64)f->begin)
		return false;
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

/* Has all of it been passed, and does it return somewhere? */
static bool is_whole(const struct function *f)
{
	for (unsigned i = 0; i < f->target_cnt; i++)
		if (!f->targets[i].met)
			return false;
	for (unsigned i = 0; i < f->guess_cnt; i++)
		if (!f->guesses[i].proved)
			return false;
	return f->returns;
}

/* ---- instructions ----------------------------------------------------------------------------- */

/* Applies one instruction. False: it makes no sense here. */
static bool step(struct function *f, const struct x86_insn *x)
{
	struct code_state *s = &f->state;

	switch (x->kind) {
	case X86_PUSH:
		code_state_store(s, x->reg, -8);
		return code_state_move_sp(s, -8);
	case X86_POP:
		return code_state_pop(s, x->reg);
	case X86_ADD_SP:
		return code_state_move_sp(s, x->value);
	case X86_COPY_SP:
		code_state_copy_sp(s, x->reg);
		return true;
	case X86_SET_SP:
		return code_state_sp_from(s, x->reg, x->value);
	case X86_LEAVE:
		return code_state_sp_from(s, X86_RBP, 0) && code_state_pop(s, X86_RBP);
	case X86_ALIGN_SP:
		return code_state_align_sp(s);
	case X86_STORE:
		code_state_store(s, x->reg, x->value);
		return true;
	case X86_LOAD:
		code_state_load(s, x->reg, x->value);
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
		return is_left(f);
	case X86_CALL:
		if (x->value > 0)
			f->called = f->pos + (__u64)x->value;
		return true;
	case X86_NOP:
		return true;
	case X86_OTHER:
		code_state_overwrite(s, x->written);
		code_state_overwrite(s, x->written_too);
		return true;
	default:
		return false;
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
	return x86_insn(f->code + f->pos, f->size - f->pos).kind != X86_NOP;
}

/* Skips one byte or instruction of padding. False: it is something else. */
static bool skip_filling(struct function *f)
{
	struct x86_insn x = { .kind = X86_NOP, .len = 1 };

	if (f->code[f->pos] && f->code[f->pos] != 0xcc)
		x = x86_insn(f->code + f->pos, f->size - f->pos);
	if (x.kind != X86_NOP)
		return false;
	f->pos += x.len;
	return true;
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
	if (is_whole(f))
		return 1;
	if (skip_filling(f))
		return 0;
	return f->target_cnt && guess(f) ? 0 : -1;
}

/* Reads the function at f->pos, and moves pos behind it. False: it is inconsistent. */
static bool read_function(struct function *f)
{
	f->begin = f->pos;
	f->is_inner = f->pos == f->called;
	f->state = (struct code_state)CODE_STATE_AT_ENTRY;
	if (f->is_inner)
		f->state.rbx.place = LOST;
	f->reached = true;
	f->target_cnt = f->row_cnt = f->guess_cnt = f->proved_cnt = 0;
	f->guessing = false;
	f->returns = false;
	while (f->pos < f->size) {
		struct x86_insn x;

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
		x = x86_insn(f->code + f->pos, f->size - f->pos);
		if (x.kind == X86_BAD)
			return false;
		f->pos += x.len;
		if (!step(f, &x) || (x.kind == X86_CALL && !comes_back(f)))
			return false;
		if (code_state_is_lost(&f->state))
			return false;
	}
	/* It continues where we cannot look. */
	return !f->reached && is_whole(f);
}

/* ---- rows ------------------------------------------------------------------------------------- */

static struct unwind_rule rule_of(const struct code_state *s)
{
	struct unwind_rule r = {
		.cfa = UNWIND_CFA_REG,
		.reg = s->by == X86_RBP ? CFI_REG_FP :
		       s->by == X86_RBX ? CFI_REG_BASE :
					  CFI_REG_SP,
		.off = code_state_cfa(s),
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

/* Skips padding after the end of a function. */
static void skip_padding(struct function *f)
{
	while (f->pos < f->size && skip_filling(f))
		;
}

/*
 * How CPython's JIT begins each trace (3.13, 3.14): a function that saves what the trace may
 * change. It has its own pages, which the kernel merges with neighbours into one mapping, and ends
 * with data.
 */
static bool is_trace(const struct function *f, __u64 at)
{
	static const __u8 pushes[] = { 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x41, 0x54, 0x53 };

	return f->size - at >= sizeof(pushes) && !memcmp(f->code + at, pushes, sizeof(pushes));
}

/* In the middle of something: skips to its end, if that can be determined. */
static void skip_unknown(struct function *f, __u64 offset)
{
	while (f->pos < f->size) {
		struct x86_insn x = x86_insn(f->code + f->pos, f->size - f->pos);
		__u64 page = ((offset + f->pos) / PAGE + 1) * PAGE - offset;

		f->pos += x.kind == X86_BAD ? 1 : x.len;
		if (f->pos >= page && page < f->size && is_trace(f, page)) {
			f->pos = page;
			return;
		}
		if (x.kind == X86_RET || x.kind == X86_JMP || x.kind == X86_JMP_BY_REG ||
		    x.kind == X86_JMP_BY_GOT || x.kind == X86_TRAP)
			return;
	}
}

/* A trace of CPython's JIT (3.13, 3.14) directly follows the function that calls it. */
static bool may_begin(const struct function *f, __u64 offset)
{
	return !((offset + f->pos) % ALIGNMENT) || f->pos == f->called;
}

void code_rows(const __u8 *code, __u64 size, __u64 offset, struct row_table *t)
{
	struct function f = { .code = code, .size = size, .called = ~0ULL };

	while (f.pos < size && !t->err && f.looks < LOOKS_MAX) {
		__u64 begin;

		skip_padding(&f);
		begin = f.pos;
		if (begin < size && may_begin(&f, offset) && read_function(&f)) {
			put_rows(&f, offset, t);
			continue;
		}
		/* The guessed code may have been another function. */
		if (f.guess_cnt) {
			f.looks += f.pos - f.guesses[0].at;
			f.pos = f.guesses[0].at;
			f.guess_cnt = 0;
			continue;
		}
		if (f.pos < size)
			skip_unknown(&f, offset);
		if (f.pos == begin)
			f.pos++;
	}
}
#else
/* On this machine frame pointers are kept everywhere. */
#define ALIGNMENT 16

void code_rows(const __u8 *code, __u64 size, __u64 offset, struct row_table *t)
{
}
#endif

/* The shortest function is a PLT stub. */
#define FUNCTION_MIN 6

int code_rows_fit(__u64 offset, __u64 size)
{
	__u64 skip = -offset & (ALIGNMENT - 1);

	return size >= FUNCTION_MIN && skip <= size - FUNCTION_MIN;
}
