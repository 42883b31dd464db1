/* SPDX-License-Identifier: BSD-2-Clause */
#include "unwind/cfi_expression.h"

#include <dwarf.h>

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

struct cfi_place cfi_expression_place(struct cfi_cursor body)
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

#ifdef __x86_64__
/*
 * What linkers write for .plt (bfd/elfxx-x86.c; the same in lld and mold): sp + 8 + ((ip & 15) >=
 * n) * 8, where n is the offset of the instruction after the push.
 */
static bool take_plt(struct cfi_cursor c, struct cfi_state *s)
{
	__s64 off;
	__u64 reg;
	int n;

	if (s->cfa_reg != CFI_REG_SP || !take_breg(&c, &reg, &off) || reg != CFI_REG_RA || off ||
	    take_literal(&c) != 15 || !take_op(&c, DW_OP_and))
		return false;
	n = take_literal(&c);
	if (n < 0 || n > 15 || !take_op(&c, DW_OP_ge) || take_literal(&c) != 3 ||
	    !take_op(&c, DW_OP_shl) || !take_op(&c, DW_OP_plus) || !is_over(&c))
		return false;
	s->cfa = UNWIND_CFA_PLT;
	s->cfa_add = n;
	return true;
}
#else
static bool take_plt(struct cfi_cursor c, struct cfi_state *s)
{
	return false;
}
#endif

void cfi_expression_cfa(struct cfi_cursor body, struct cfi_state *s)
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
