/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/rows/cfi.h"

#include <dwarf.h>
#include <stdint.h>
#include <string.h>

/* ---- cfi expression ---------------------------------------------------------------------------- */

/*
 * Recognises just those DWARF expressions that compilers, libc and linkers put
 * into call frame information: a register plus an offset, the word in memory there, and stubs of
 * the PLT.
 */

/* Parses "register plus offset" at the start of an expression. */
static bool take_breg(struct cfi_cursor *c, __u64 *ret_reg, __s64 *ret_off)
{
	__u8 op = (__u8)cfi_fixed(c, 1);

	if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
		*ret_reg = op - DW_OP_breg0;
	else if (op == DW_OP_bregx)
		*ret_reg = cfi_uleb(c);
	else
		return false;
	*ret_off = cfi_sleb(c);
	return !c->bad;
}

static bool take_op(struct cfi_cursor *c, __u8 op)
{
	return cfi_fixed(c, 1) == op && !c->bad;
}

/* A literal from 0 to 31; -1: none. */
static int take_literal(struct cfi_cursor *c)
{
	__u8 op = (__u8)cfi_fixed(c, 1);

	return !c->bad && op >= DW_OP_lit0 && op <= DW_OP_lit31 ? op - DW_OP_lit0 : -1;
}

static bool is_over(const struct cfi_cursor *c)
{
	return !c->bad && c->pos == c->end;
}

/* Where a register is saved: CFI_AT_REG, or CFI_UNKNOWN. */
static struct cfi_place cfi_expression_place(struct cfi_cursor body)
{
	__s64 off;
	__u64 reg;

	if (!take_breg(&body, &reg, &off) || !is_over(&body) || reg > 31)
		return (struct cfi_place){ .how = CFI_UNKNOWN };
	return (struct cfi_place){ .how = CFI_AT_REG, .reg = (__u8)reg, .off = off };
}

/* breg deref, optionally plus a number. */
static bool take_deref(struct cfi_cursor c, struct cfi_state *s)
{
	__u64 add = 0;

	if (!take_op(&c, DW_OP_deref))
		return false;
	if (!is_over(&c)) {
		if (!take_op(&c, DW_OP_plus_uconst))
			return false;
		add = cfi_uleb(&c);
		if (!is_over(&c))
			return false;
	}
	s->cfa = UNWIND_CFA_DEREF;
	s->cfa_add = (__s64)add;
	return true;
}

/*
 * What linkers write for .plt on x86-64 (bfd/elfxx-x86.c; the same in lld and mold): sp + 8 + ((ip & 15) >=
 * n) * 8, where n is the offset of the instruction after the push.
 */
static bool take_plt(struct cfi_cursor c, struct cfi_state *s)
{
	__s64 off;
	__u64 reg;
	int n;

	if (s->cfa_reg != UNWIND_REG_SP || !take_breg(&c, &reg, &off) || reg != UNWIND_REG_RA ||
	    off || take_literal(&c) != 15 || !take_op(&c, DW_OP_and))
		return false;
	n = take_literal(&c);
	if (n < 0 || n > 15 || !take_op(&c, DW_OP_ge) || take_literal(&c) != 3 ||
	    !take_op(&c, DW_OP_shl) || !take_op(&c, DW_OP_plus) || !is_over(&c))
		return false;
	s->cfa = UNWIND_CFA_PLT;
	s->cfa_add = n;
	return true;
}

/* Sets the CFA of *s; UNWIND_CFA_NONE if the form is unsupported. */
static void cfi_expression_cfa(struct cfi_cursor body, struct cfi_state *s)
{
	s->cfa = UNWIND_CFA_NONE;
	s->cfa_add = 0;
	if (!take_breg(&body, &s->cfa_reg, &s->cfa_off))
		return;
	if (is_over(&body))
		s->cfa = UNWIND_CFA_REG;
	else if (!take_deref(body, s))
		take_plt(body, s);
}

/* ---- reading ---------------------------------------------------------------------------------- */

const __u8 *cfi_bytes(struct cfi_cursor *c, __u64 len)
{
	const __u8 *at = c->pos;

	if (c->bad || len > (__u64)(c->end - c->pos)) {
		c->bad = true;
		c->pos = c->end;
		return NULL;
	}
	c->pos += len;
	return at;
}

__u64 cfi_fixed(struct cfi_cursor *c, unsigned size)
{
	const __u8 *at = cfi_bytes(c, size);
	__u64 value = 0;

	if (at)
		memcpy(&value, at, size);
	return value;
}

__u64 cfi_uleb(struct cfi_cursor *c)
{
	__u64 value = 0;

	for (unsigned shift = 0;; shift += 7) {
		const __u8 *at = cfi_bytes(c, 1);

		if (!at)
			return 0;
		if (shift < 64)
			value |= (__u64)(*at & 0x7f) << shift;
		if (!(*at & 0x80))
			return value;
	}
}

__s64 cfi_sleb(struct cfi_cursor *c)
{
	__u64 value = 0;

	for (unsigned shift = 0;;) {
		const __u8 *at = cfi_bytes(c, 1);

		if (!at)
			return 0;
		if (shift < 64)
			value |= (__u64)(*at & 0x7f) << shift;
		shift += 7;
		if (*at & 0x80)
			continue;
		if (shift < 64 && *at & 0x40)
			value |= ~0ULL << shift;
		return (__s64)value;
	}
}

/*
 * From here on return addresses are signed, or no longer (AADWARF64 4.4; elsewhere the same numbers mean something
 * else): nothing depends on it, as UNWIND_CODE_ADDR() takes any signature away.
 */
#define CFA_NEGATE_RA_STATE 0x2d
#define CFA_NEGATE_RA_STATE_WITH_PC 0x2c

/* ---- instructions ----------------------------------------------------------------------------- */

void cfi_begin(struct cfi_machine *m, const struct cfi_common *common, __u64 pc, __u64 *budget)
{
	m->common = common;
	m->state = common->initial;
	m->saved_cnt = 0;
	m->budget = budget;
	m->pc = pc;
}

/* The place of a tracked register; NULL for any other. */
static struct cfi_place *place_of(struct cfi_machine *m, struct cfi_state *s, __u64 reg)
{
	if (reg == UNWIND_REG_FP)
		return &s->fp;
	if (reg == UNWIND_REG_BASE)
		return &s->base;
	return reg == m->common->ra_reg ? &s->ra : NULL;
}

static void set_place(struct cfi_machine *m, __u64 reg, enum cfi_how how, __s64 off)
{
	struct cfi_place *p = place_of(m, &m->state, reg);

	if (p)
		*p = (struct cfi_place){ .how = (__u8)how, .off = off };
}

/* The value is in another general register. */
static void set_register(struct cfi_machine *m, __u64 reg, __u64 other)
{
	struct cfi_place *p = place_of(m, &m->state, reg);

	if (!p)
		return;
	*p = (struct cfi_place){ .how = CFI_UNKNOWN };
	if (p == &m->state.ra && other < UNWIND_REGS)
		*p = (struct cfi_place){ .how = CFI_IN_REG, .reg = (__u8)other };
}

/* Modulo 2^64, as unwinders compute; a value out of range becomes unknown in the end. */
static __s64 factored(const struct cfi_machine *m, __u64 value)
{
	return (__s64)(value * (__u64)m->common->data_align);
}

static void restore(struct cfi_machine *m, __u64 reg)
{
	struct cfi_state initial = m->common->initial;
	struct cfi_place *p = place_of(m, &m->state, reg);

	if (p)
		*p = *place_of(m, &initial, reg);
}

static void set_expression(struct cfi_machine *m, __u64 reg, struct cfi_cursor *c)
{
	__u64 len = cfi_uleb(c);
	struct cfi_cursor body = { .pos = cfi_bytes(c, len) };
	struct cfi_place *p = place_of(m, &m->state, reg);

	if (!body.pos || !p)
		return;
	body.end = body.pos + len;
	*p = cfi_expression_place(body);
}

static void set_cfa_expression(struct cfi_machine *m, struct cfi_cursor *c)
{
	__u64 len = cfi_uleb(c);
	struct cfi_cursor body = { .pos = cfi_bytes(c, len) };

	if (!body.pos)
		return;
	body.end = body.pos + len;
	cfi_expression_cfa(body, &m->state);
}

static void set_cfa(struct cfi_machine *m, __u64 reg, __s64 off)
{
	m->state.cfa = UNWIND_CFA_REG;
	m->state.cfa_reg = reg;
	m->state.cfa_off = off;
	m->state.cfa_add = 0;
}

/* Changes one or both; only allowed while the CFA is a register plus an offset. */
static bool change_cfa(struct cfi_machine *m, const __u64 *reg, const __s64 *off)
{
	if (m->state.cfa != UNWIND_CFA_REG)
		return false;
	set_cfa(m, reg ? *reg : m->state.cfa_reg, off ? *off : m->state.cfa_off);
	return true;
}

static bool save(struct cfi_machine *m)
{
	if (m->saved_cnt == CFI_STATES_MAX)
		return false;
	m->saved[m->saved_cnt++] = m->state;
	return true;
}

static bool take_back(struct cfi_machine *m)
{
	if (!m->saved_cnt)
		return false;
	m->state = m->saved[--m->saved_cnt];
	return true;
}

/* Runs an instruction that does not change pc. false: it makes no sense. */
static bool run_one(struct cfi_machine *m, __u8 op, struct cfi_cursor *c)
{
	__u64 reg;
	__s64 off;

	switch (op) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_offset_extended:
		reg = cfi_uleb(c);
		set_place(m, reg, CFI_AT_CFA, factored(m, cfi_uleb(c)));
		return true;
	case DW_CFA_offset_extended_sf:
		reg = cfi_uleb(c);
		set_place(m, reg, CFI_AT_CFA, factored(m, (__u64)cfi_sleb(c)));
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		reg = cfi_uleb(c);
		set_place(m, reg, CFI_AT_CFA, factored(m, -cfi_uleb(c)));
		return true;
	case DW_CFA_restore_extended:
		restore(m, cfi_uleb(c));
		return true;
	case DW_CFA_undefined:
		set_place(m, cfi_uleb(c), CFI_UNDEFINED, 0);
		return true;
	case DW_CFA_same_value:
		set_place(m, cfi_uleb(c), CFI_SAME, 0);
		return true;
	case DW_CFA_register:
		reg = cfi_uleb(c);
		set_register(m, reg, cfi_uleb(c));
		return true;
	case DW_CFA_val_offset:
		reg = cfi_uleb(c);
		cfi_uleb(c);
		set_place(m, reg, CFI_UNKNOWN, 0);
		return true;
	case DW_CFA_val_offset_sf:
		reg = cfi_uleb(c);
		cfi_sleb(c);
		set_place(m, reg, CFI_UNKNOWN, 0);
		return true;
	case DW_CFA_remember_state:
		return save(m);
	case DW_CFA_restore_state:
		return take_back(m);
	case DW_CFA_def_cfa:
		reg = cfi_uleb(c);
		set_cfa(m, reg, (__s64)cfi_uleb(c));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = cfi_uleb(c);
		set_cfa(m, reg, factored(m, (__u64)cfi_sleb(c)));
		return true;
	case DW_CFA_def_cfa_register:
		reg = cfi_uleb(c);
		return change_cfa(m, &reg, NULL);
	case DW_CFA_def_cfa_offset:
		off = (__s64)cfi_uleb(c);
		return change_cfa(m, NULL, &off);
	case DW_CFA_def_cfa_offset_sf:
		off = factored(m, (__u64)cfi_sleb(c));
		return change_cfa(m, NULL, &off);
	case DW_CFA_def_cfa_expression:
		set_cfa_expression(m, c);
		return true;
	case DW_CFA_expression:
		set_expression(m, cfi_uleb(c), c);
		return true;
	case DW_CFA_val_expression:
		reg = cfi_uleb(c);
		cfi_bytes(c, cfi_uleb(c));
		set_place(m, reg, CFI_UNKNOWN, 0);
		return true;
	case DW_CFA_GNU_args_size:
		cfi_uleb(c);
		return true;
	case CFA_NEGATE_RA_STATE:
	case CFA_NEGATE_RA_STATE_WITH_PC:
		return UNWIND_RA_IN_REGISTER;
	default:
		return false;
	}
}

/* How far the instruction advances pc; 0 for other instructions. */
static bool advance(const struct cfi_machine *m, __u8 op, struct cfi_cursor *c, __u64 *ret)
{
	switch (op) {
	case DW_CFA_advance_loc1:
		*ret = cfi_fixed(c, 1);
		break;
	case DW_CFA_advance_loc2:
		*ret = cfi_fixed(c, 2);
		break;
	case DW_CFA_advance_loc4:
		*ret = cfi_fixed(c, 4);
		break;
	default:
		if ((op & 0xc0) != DW_CFA_advance_loc)
			return false;
		*ret = op & 0x3f;
	}
	*ret *= m->common->code_align;
	return true;
}

enum cfi_step cfi_run(struct cfi_machine *m, struct cfi_cursor *c)
{
	while (c->pos < c->end) {
		__u8 op = (__u8)cfi_fixed(c, 1);
		__u64 delta;

		if (!*m->budget)
			return CFI_BAD;
		(*m->budget)--;
		if (advance(m, op, c, &delta)) {
			m->pc += delta;
			return c->bad ? CFI_BAD : CFI_ADVANCED;
		}
		if ((op & 0xc0) == DW_CFA_offset)
			set_place(m, op & 0x3f, CFI_AT_CFA, factored(m, cfi_uleb(c)));
		else if ((op & 0xc0) == DW_CFA_restore)
			restore(m, op & 0x3f);
		else if (!run_one(m, op, c))
			return CFI_BAD;
		if (c->bad)
			return CFI_BAD;
	}
	return CFI_END;
}

/* ---- rules ------------------------------------------------------------------------------------ */

static bool fits(__s64 value, __s64 min, __s64 max)
{
	return value >= min && value <= max;
}

static bool set_cfa_rule(struct unwind_rule *r, const struct cfi_state *s)
{
	if (s->cfa == UNWIND_CFA_NONE || s->cfa_reg > 31 ||
	    !fits(s->cfa_off, INT32_MIN, INT32_MAX) || !fits(s->cfa_add, INT16_MIN, INT16_MAX))
		return false;
	r->cfa = s->cfa;
	r->reg = (__u8)s->cfa_reg;
	r->off = (__s32)s->cfa_off;
	r->add = (__s16)s->cfa_add;
	return true;
}

static bool set_ra_rule(struct unwind_rule *r, const struct cfi_place *ra)
{
	if (ra->how == CFI_UNDEFINED) {
		r->ra = UNWIND_RA_UNDEFINED;
		return true;
	}
	/* As at entry: where calls leave it in a register (arm64). */
	if (ra->how == CFI_IN_REG || (ra->how == CFI_SAME && UNWIND_REG_RA < UNWIND_REGS)) {
		r->ra = UNWIND_RA_REG;
		r->ra_off = ra->how == CFI_IN_REG ? ra->reg : UNWIND_REG_RA;
		return true;
	}
	if (!fits(ra->off, INT16_MIN, INT16_MAX))
		return false;
	r->ra_off = (__s16)ra->off;
	r->ra = ra->how == CFI_AT_CFA ? UNWIND_RA_CFA : UNWIND_RA_SP;
	return ra->how == CFI_AT_CFA || (ra->how == CFI_AT_REG && ra->reg == UNWIND_REG_SP);
}

static void set_fp_rule(struct unwind_rule *r, const struct cfi_place *fp)
{
	r->fp = UNWIND_FP_UNKNOWN;
	if (fp->how == CFI_SAME)
		r->fp = UNWIND_FP_SAME;
	if (!fits(fp->off, INT16_MIN, INT16_MAX)) {
		r->fp = UNWIND_FP_UNKNOWN;
		return;
	}
	if (fp->how == CFI_AT_CFA)
		r->fp = UNWIND_FP_CFA;
	else if (fp->how == CFI_AT_REG && fp->reg == UNWIND_REG_SP)
		r->fp = UNWIND_FP_SP;
	else if (fp->how == CFI_AT_REG && fp->reg == UNWIND_REG_FP)
		r->fp = UNWIND_FP_FP;
	else
		return;
	r->fp_off = (__s16)fp->off;
}

/* Relative to the same base as the return address. */
static __s16 base_rule(const struct unwind_rule *r, const struct cfi_place *base)
{
	bool by_sp = base->how == CFI_AT_REG && base->reg == UNWIND_REG_SP && r->ra == UNWIND_RA_SP;

	if (base->how == CFI_SAME)
		return 0;
	if (!(by_sp || (base->how == CFI_AT_CFA && r->ra == UNWIND_RA_CFA)) || !base->off ||
	    !fits(base->off, INT16_MIN + 1, INT16_MAX))
		return UNWIND_BASE_UNKNOWN;
	return (__s16)base->off;
}

/* In a large frame: from its end, where the stack pointer is. There arm64's compilers save. */
static struct cfi_place nearest(const struct cfi_state *s, struct cfi_place place)
{
	if (place.how == CFI_AT_CFA && !fits(place.off, INT16_MIN + 1, INT16_MAX) &&
	    s->cfa == UNWIND_CFA_REG && s->cfa_reg == UNWIND_REG_SP) {
		place.how = CFI_AT_REG;
		place.reg = UNWIND_REG_SP;
		place.off += s->cfa_off;
	}
	return place;
}

struct unwind_rule cfi_rule(const struct cfi_state *s, bool signal)
{
	const struct cfi_place ra = nearest(s, s->ra), fp = nearest(s, s->fp),
			       base = nearest(s, s->base);
	struct unwind_rule r = { 0 };

	/* The outermost frame needs no CFA: it has no caller. */
	if (!set_ra_rule(&r, &ra) || (!set_cfa_rule(&r, s) && r.ra != UNWIND_RA_UNDEFINED))
		return (struct unwind_rule){ 0 };
	/* longjmp()'s target has another stack pointer as well. */
	if (r.ra == UNWIND_RA_REG && (r.cfa != UNWIND_CFA_REG || r.reg != UNWIND_REG_SP))
		return (struct unwind_rule){ 0 };
	if (r.ra == UNWIND_RA_UNDEFINED) {
		r.fp = UNWIND_FP_UNKNOWN;
		return r;
	}
	set_fp_rule(&r, &fp);
	r.base_off = base_rule(&r, &base);
	if (signal)
		r.ra |= UNWIND_RA_SIGNAL;
	return r;
}
