/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/rows/code_state.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
#include <dwarf.h>

#include "bpf/native/rows.h"
#include "native/rows/cfi.h"

/* Deeper than any hand-written frame. */
#define DEPTH_MAX (1 << 20)

static bool copies_same(const struct code_copy *a, const struct code_copy *b)
{
	return a->is == b->is && (!a->is || a->depth == b->depth);
}

bool code_state_same(const struct code_state *a, const struct code_state *b)
{
	return a->depth == b->depth && a->by == b->by && a->below == b->below &&
	       copies_same(&a->fp, &b->fp) && copies_same(&a->base, &b->base) &&
	       a->rbp.place == b->rbp.place && a->rbp.at == b->rbp.at &&
	       a->rbx.place == b->rbx.place && a->rbx.at == b->rbx.at;
}

struct code_state code_state_begin(bool is_inner)
{
	/* An inner function's rbx may be anything. */
	return (struct code_state){ .depth = 8,
				    .by = X86_RSP,
				    .rbx = { .place = is_inner ? LOST : IN_REGISTER } };
}

/* The header of .plt has an entry in .eh_frame. */
bool code_state_is_binding(const struct code_state *s)
{
	return false;
}

bool code_state_is_left(const struct code_state *s, bool is_inner)
{
	return s->depth == 8 && s->by == X86_RSP && s->rbp.place != LOST &&
	       (is_inner || s->rbx.place != LOST);
}

static struct code_kept *kept_of(struct code_state *s, __u8 reg)
{
	return reg == X86_RBP ? &s->rbp : reg == X86_RBX ? &s->rbx : NULL;
}

static struct code_copy *copy_of(struct code_state *s, __u8 reg)
{
	return reg == X86_RBP ? &s->fp : reg == X86_RBX ? &s->base : NULL;
}

bool code_state_is_lost(const struct code_state *s)
{
	return s->by == X86_RBP ? !s->fp.is : s->by == X86_RBX && !s->base.is;
}

static __s32 cfa_of(const struct code_state *s)
{
	return s->by == X86_RBP ? s->fp.depth : s->by == X86_RBX ? s->base.depth : s->depth;
}

/* The register now has another value. */
static void overwrite(struct code_state *s, __u8 reg)
{
	struct code_kept *k = kept_of(s, reg);
	struct code_copy *copy = copy_of(s, reg);

	if (k && k->place == IN_REGISTER)
		*k = (struct code_kept){ .place = LOST };
	if (copy)
		copy->is = false;
}

static void copy_sp(struct code_state *s, __u8 reg)
{
	struct code_copy *copy = copy_of(s, reg);

	overwrite(s, reg);
	if (copy && s->by == X86_RSP)
		*copy = (struct code_copy){ .is = true, .depth = s->depth };
}

/* Classifies [rsp + value]: the kind of place, and its offset. */
static enum code_place place_of(const struct code_state *s, __s64 value, __s64 *ret_at)
{
	*ret_at = value - (s->by == X86_RSP ? s->depth : s->below);
	return s->by == X86_RSP ? SAVED : SAVED_BELOW;
}

static void store(struct code_state *s, __u8 reg, __s64 value)
{
	struct code_kept *k = kept_of(s, reg);
	__s64 at;
	enum code_place place = place_of(s, value, &at);

	if (k && k->place == IN_REGISTER && at < 0 && at >= -DEPTH_MAX)
		*k = (struct code_kept){ .place = place, .at = (__s32)at };
}

/*
 * Loaded from where it was saved, the register has the caller's value again. Otherwise it has some
 * other value.
 */
static void load(struct code_state *s, __u8 reg, __s64 value)
{
	struct code_kept *k = kept_of(s, reg);
	__s64 at;
	enum code_place place = place_of(s, value, &at);
	bool is_callers = k && k->place == place && k->at == at;

	overwrite(s, reg);
	if (is_callers)
		*k = (struct code_kept){ .place = IN_REGISTER };
}

static bool set_depth(struct code_state *s, __s64 depth)
{
	if (depth < 8 || depth > DEPTH_MAX)
		return false;
	s->depth = (__s32)depth;
	return true;
}

/* rsp = rsp + value. Beyond the point where it was aligned its position is unknown. */
static bool move_sp(struct code_state *s, __s64 value)
{
	__s64 below = s->below - value;

	if (s->by == X86_RSP)
		return set_depth(s, s->depth - value);
	if (below < 0 || below > DEPTH_MAX)
		return false;
	s->below = (__s32)below;
	return true;
}

/* rsp moves elsewhere: positions relative to it are no longer known. */
static void leave_below(struct code_state *s)
{
	s->below = 0;
	if (s->rbp.place == SAVED_BELOW)
		s->rbp.place = LOST;
	if (s->rbx.place == SAVED_BELOW)
		s->rbx.place = LOST;
}

static bool align_sp(struct code_state *s)
{
	leave_below(s);
	if (s->by == X86_RSP)
		s->by = s->fp.is ? X86_RBP : X86_RBX;
	return !code_state_is_lost(s);
}

/* rsp = reg + value. */
static bool sp_from(struct code_state *s, __u8 reg, __s64 value)
{
	const struct code_copy *copy = copy_of(s, reg);

	if (!copy || !copy->is)
		return false;
	leave_below(s);
	s->by = X86_RSP;
	return set_depth(s, copy->depth - value);
}

static bool pop(struct code_state *s, __u8 reg)
{
	if (reg == X86_RSP)
		return false;
	load(s, reg, 0);
	return move_sp(s, 8);
}

bool code_state_apply(struct code_state *s, const struct code_insn *x)
{
	switch (x->kind) {
	case X86_PUSH:
		store(s, x->reg, -8);
		return move_sp(s, -8);
	case X86_POP:
		return pop(s, x->reg);
	case X86_ADD_SP:
		return move_sp(s, x->value);
	case X86_COPY_SP:
		copy_sp(s, x->reg);
		return true;
	case X86_SET_SP:
		return sp_from(s, x->reg, x->value);
	case X86_LEAVE:
		return sp_from(s, X86_RBP, 0) && pop(s, X86_RBP);
	case X86_ALIGN_SP:
		return align_sp(s);
	case X86_STORE:
		store(s, x->reg, x->value);
		return true;
	case X86_LOAD:
		load(s, x->reg, x->value);
		return true;
	case X86_OTHER:
		overwrite(s, x->written);
		overwrite(s, x->written_too);
		return true;
	default: /* a call leaves these registers as they are */
		return true;
	}
}

struct unwind_rule code_state_rule(const struct code_state *s)
{
	struct unwind_rule r = {
		.cfa = UNWIND_CFA_REG,
		.reg = s->by == X86_RBP ? UNWIND_REG_FP :
		       s->by == X86_RBX ? UNWIND_REG_BASE :
					  UNWIND_REG_SP,
		.off = cfa_of(s),
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

/*
 * How CPython's JIT begins each trace (3.13, 3.14): a function that saves what the trace may
 * change. It has its own pages, which the kernel merges with neighbours into one mapping, and ends
 * with data.
 */
bool code_is_trace(const __u8 *code, __u64 left)
{
	static const __u8 pushes[] = { 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x41, 0x54, 0x53 };

	return left >= sizeof(pushes) && !memcmp(code, pushes, sizeof(pushes));
}

/* Pushes are anywhere. */
bool code_is_prologue(const __u8 *code, __u64 left)
{
	return false;
}

__u64 code_filling(const __u8 *code, __u64 left)
{
	struct code_insn x = { .kind = CODE_NOP, .len = 1 };

	if (*code && *code != 0xcc)
		x = code_insn(code, left);
	return x.kind == CODE_NOP ? x.len : 0;
}

/* ---- code known by its bytes ------------------------------------------------------------------- */

/* sysdeps/unix/sysv/linux/x86_64/clone.S, clone3.S */
bool code_is_clone(const __u8 *code, __u64 size, struct unwind_rule *ret)
{
	static const __u8 syscall_test_jl[] = { 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c };
	static const __u8 je_ret[] = { 0x74, 0x01, 0xc3 };

	/* Including the target of jl. */
	if (size != sizeof(syscall_test_jl) + 1 + sizeof(je_ret) ||
	    memcmp(code, syscall_test_jl, sizeof(syscall_test_jl)) ||
	    memcmp(code + size - sizeof(je_ret), je_ret, sizeof(je_ret)))
		return false;
	/* reg: holds the system call's result. */
	*ret = (struct unwind_rule){ .cfa = UNWIND_CFA_CLONE,
				     .reg = 0,
				     .off = 8,
				     .ra = UNWIND_RA_CFA,
				     .ra_off = -8,
				     .fp = UNWIND_FP_SAME };
	return true;
}

static const __u8 endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };

__u32 code_landing(const __u8 *code, __u64 left)
{
	return left >= sizeof(endbr) && !memcmp(code, endbr, sizeof(endbr)) ? sizeof(endbr) : 0;
}

/*
 * As in 3.12 and 3.13, and as in 3.13.15 and later, with a frame pointer. An endbr64 may precede either, which makes
 * no difference.
 */
static const __u8 plain_code[] = { 0x48, 0x83, 0xec, 0x08, /* sub $8, %rsp */
				   0xff, 0xd1, /* call *%rcx */
				   0x48, 0x83, 0xc4, 0x08, /* add $8, %rsp */
				   0xc3 };
static const __u8 plain_cfi[] = { DW_CFA_advance_loc + 4, DW_CFA_def_cfa_offset, 16,
				  DW_CFA_advance_loc + 6, DW_CFA_def_cfa_offset, 8 };
static const __u8 framed_code[] = { 0x55, /* push %rbp */
				    0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
				    0xff, 0xd1, /* call *%rcx */
				    0x5d, /* pop %rbp */
				    0xc3 };
static const __u8 framed_cfi[] = {
	DW_CFA_advance_loc + 1, DW_CFA_def_cfa_offset, 16, DW_CFA_offset + UNWIND_REG_FP, 2,
	DW_CFA_advance_loc + 6, DW_CFA_def_cfa_offset, 8,  DW_CFA_restore + UNWIND_REG_FP
};

const struct code_trampoline *code_trampoline_at(const __u8 *code, __u64 left)
{
	static const struct code_trampoline known[] = {
		{ plain_code, plain_cfi, sizeof(plain_code), sizeof(plain_cfi) },
		{ framed_code, framed_cfi, sizeof(framed_code), sizeof(framed_cfi) },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (left >= known[i].size && !memcmp(code, known[i].code, known[i].size))
			return &known[i];
	return NULL;
}
#endif
