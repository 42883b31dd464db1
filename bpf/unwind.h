/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind.h - the C side of the stack, from the user registers to where the thread began.
 *
 * Each step: which mapping of the process is the address in, which row of that mapping's file covers
 * it, and what does the row's rule say of the canonical frame address (CFA: the caller's stack
 * pointer), the return address and the frame pointer. Tables: rows.h. A frame is noted with its CFA; it lies on the
 * stack below that and above the CFA of the frame that it has called, so user space joins native and
 * Python frames by addresses (user/stack/join.h).
 *
 * Where a file has no rows, or there is no file (a JIT's code), the frame pointer is followed if there
 * can be a frame: [fp] is the caller's fp, [fp + 8] the return address. Such a frame is marked in the lowest
 * bit of its address: nothing has proved it. Where the rows are still to be read the walk ends: code that has rows
 * keeps no frame pointer, mostly, and what lies in the register is that of a caller further below.
 *
 * A stack is whole where a row says that there is no return address (_start, clone), or the return address
 * or the frame pointer is 0.
 *
 * Must hold: at most KRAIT_MAX_NATIVE steps; nothing that the tables or the stack have leads to a read
 * anywhere but in the tables and the target's memory; the stack pointer only grows, but for signal
 * frames (which lead to another stack).
 */
#ifndef KRAIT_UNWIND_H
#define KRAIT_UNWIND_H

#include "native_walk.h"
#include "unwind_find.h"

/* The largest stack that is believed, from the stack pointer up; for frame pointers only. */
#define NATIVE_MAX_SPAN (1ULL << 30)

/* ---- memory ----------------------------------------------------------------------------------- */

#ifdef __bpf__
int unwind_fill_apart(__u32 memory, __u64 addr);
#define UNWIND_FILL(w, addr) unwind_fill_apart((w)->context, addr)
#else
#define UNWIND_FILL(w, addr) pages_fill(&(w)->stack, addr)
#endif

/* Reads a word of the stack, alone if its page cannot be read. 0, or an error. */
static __always_inline int unwind_read(struct native_walk *w, __u64 *ret, __u64 addr)
{
	if (addr & 7 || (!pages_has(&w->stack, addr) && UNWIND_FILL(w, addr)))
		return read_from(w, ret, 8, addr);
	*ret = pages_word(&w->stack, addr);
	return 0;
}

/* ---- rules ------------------------------------------------------------------------------------ */

/*
 * What a register had in the frame; at the leaf all are known. Who finds its frame by a register that calls may change
 * (OpenSSL's AES-GCM) calls what leaves it alone: at the leaf's caller it is as at the leaf. 0 or -1.
 */
static __always_inline int unwind_reg(struct native_walk *w, __u32 reg, __u64 *ret)
{
	if (reg == UNWIND_REG_SP) {
		*ret = w->sp;
		return 0;
	}
	if (reg == UNWIND_REG_FP) {
		*ret = w->fp;
		return w->flags & UNWIND_NO_FP ? -1 : 0;
	}
	if (reg == UNWIND_REG_BASE && w->flags & UNWIND_NO_BASE)
		return -1;
	if (reg == UNWIND_REG_BASE && w->base_addr)
		return unwind_read(w, ret, w->base_addr);
	if (reg != UNWIND_REG_BASE && !(w->flags & (UNWIND_LEAF | UNWIND_OF_LEAF)))
		return -1;
	*ret = w->regs[masked(reg, UNWIND_REGS - 1)];
	return 0;
}

static __always_inline int unwind_cfa(struct native_walk *w, __u64 *ret)
{
	const struct unwind_rule *r = &w->rule;
	__u64 cfa;

	/* A clone's reg says who this is: see unwind_is_outermost(). */
	if (r->cfa == UNWIND_CFA_CLONE ? !(w->flags & UNWIND_LEAF) : unwind_reg(w, r->reg, &cfa))
		return NATIVE_NO_RULE;
	if (r->cfa == UNWIND_CFA_CLONE)
		cfa = w->sp;
	cfa += (__s64)r->off;
	if (r->cfa == UNWIND_CFA_DEREF) {
		if (unwind_read(w, &cfa, cfa))
			return NATIVE_FAULT;
		cfa += (__s64)r->add;
	} else if (r->cfa == UNWIND_CFA_PLT) {
		cfa += (w->ip & 15) >= (__u64)r->add ? 8 : 0;
	}
	/* A frame has at least its return address, but where that is in a register; where a signal came from is on any stack. */
	if (cfa & 7 ||
	    (cfa < w->sp + (r->ra == UNWIND_RA_REG ? 0 : 8) && !(r->ra & UNWIND_RA_SIGNAL)))
		return NATIVE_NO_RULE;
	*ret = cfa;
	return NATIVE_NONE;
}

/* The frame pointer of the caller. */
static __always_inline int unwind_fp(struct native_walk *w, __u64 cfa)
{
	const struct unwind_rule *r = &w->rule;
	__u64 base = w->sp;

	w->fp_addr = 0;
	if (r->fp == UNWIND_FP_SAME)
		return NATIVE_NONE;
	if (r->fp == UNWIND_FP_UNKNOWN || (r->fp == UNWIND_FP_FP && w->flags & UNWIND_NO_FP)) {
		w->flags |= UNWIND_NO_FP;
		return NATIVE_NONE;
	}
	w->flags = (w->flags & ~UNWIND_NO_FP) | UNWIND_RESTORED;
	if (r->fp == UNWIND_FP_CFA)
		base = cfa;
	else if (r->fp == UNWIND_FP_FP)
		base = w->fp;
	w->fp_addr = base + (__s64)r->fp_off;
	return unwind_read(w, &w->fp, w->fp_addr) ? NATIVE_FAULT : NATIVE_NONE;
}

/* Where the caller's base register is: looked at only where a rule needs it. */
static __always_inline void unwind_base(struct native_walk *w, __u64 cfa)
{
	__s64 off = w->rule.base_off;

	if (!off)
		return;
	if (off == UNWIND_BASE_UNKNOWN)
		w->flags |= UNWIND_NO_BASE;
	else
		w->flags &= ~UNWIND_NO_BASE;
	w->base_addr = ((w->rule.ra & UNWIND_RA_KIND) == UNWIND_RA_SP ? w->sp : cfa) + off;
}

/* The step depends on the words at CFA - 8 and w->fp_addr, and on nothing else but its state. */
static __always_inline bool unwind_is_plain(const struct native_walk *w)
{
	const struct unwind_rule *r = &w->rule;

	return (r->reg == UNWIND_REG_SP || r->reg == UNWIND_REG_FP) &&
	       (r->cfa == UNWIND_CFA_REG || r->cfa == UNWIND_CFA_PLT) && r->ra == UNWIND_RA_CFA &&
	       r->ra_off == -8;
}

/* Is there no caller? */
static __always_inline bool unwind_is_outermost(const struct native_walk *w)
{
	const struct unwind_rule *r = &w->rule;

	if (r->cfa == UNWIND_CFA_CLONE)
		return w->flags & UNWIND_LEAF && !w->regs[masked(r->reg, UNWIND_REGS - 1)];
	return (r->ra & UNWIND_RA_KIND) == UNWIND_RA_UNDEFINED;
}

/* The return address. 0, or the reason why not. */
static __always_inline __u32 unwind_ra(struct native_walk *w, __u64 cfa, __u64 *ret)
{
	const struct unwind_rule *r = &w->rule;
	__u32 kind = r->ra & UNWIND_RA_KIND;

	if (kind == UNWIND_RA_REG) {
		*ret = w->regs[masked(r->ra_off, UNWIND_REGS - 1)];
		return w->flags & UNWIND_LEAF ? NATIVE_NONE : NATIVE_NO_RULE;
	}
	return unwind_read(w, ret, (kind == UNWIND_RA_CFA ? cfa : w->sp) + (__s64)r->ra_off) ?
		       NATIVE_FAULT :
		       NATIVE_NONE;
}

/* From the frame to its caller, by w's rule. The reason why not, or NATIVE_NONE. */
static __always_inline __u32 unwind_by_rule(struct native_walk *w, struct native_frame *out)
{
	const struct unwind_rule *r = &w->rule;
	__u64 cfa, ra = 0;
	__u32 kept = 0, reason;

	if (unwind_is_outermost(w)) {
		out->frame_addr = w->sp;
		return NATIVE_COMPLETE;
	}
	reason = unwind_cfa(w, &cfa);
	if (reason != NATIVE_NONE)
		return reason;
	reason = unwind_ra(w, cfa, &ra);
	if (reason != NATIVE_NONE)
		return reason;
	reason = unwind_fp(w, cfa);
	if (reason != NATIVE_NONE)
		return reason;
	unwind_base(w, cfa);
	w->again = unwind_is_plain(w);
	out->frame_addr = cfa;
	if (r->ra & UNWIND_RA_SIGNAL)
		kept = UNWIND_EXACT;
	else if (w->flags & UNWIND_LEAF)
		kept = UNWIND_OF_LEAF;
	w->flags &= ~(UNWIND_EXACT | UNWIND_LEAF | UNWIND_OF_LEAF | UNWIND_BY_FP);
	w->flags |= kept;
	w->sp = cfa;
	w->ip = ra;
	return ra ? NATIVE_NONE : NATIVE_COMPLETE;
}

/* The same by the frame pointer, if nothing says that there is none. */
static __always_inline __u32 unwind_by_fp(struct native_walk *w, struct native_frame *out)
{
	__u64 fp = 0, ra = 0;

	if (w->flags & UNWIND_NO_ROWS)
		return NATIVE_NO_ROWS;
	/* Processes and threads start with zero here; before the register was restored, zero means nothing. */
	if (!w->fp && w->flags & UNWIND_RESTORED && !(w->flags & UNWIND_NO_FP)) {
		out->frame_addr = w->sp | NATIVE_BY_FP;
		return NATIVE_COMPLETE;
	}
	if (w->flags & UNWIND_NO_FP || w->fp & 7 || w->fp < w->sp ||
	    w->fp - w->sp >= NATIVE_MAX_SPAN)
		return NATIVE_NO_FRAME_POINTER;
	if (unwind_read(w, &fp, w->fp) || unwind_read(w, &ra, w->fp + 8))
		return NATIVE_FAULT;
	out->frame_addr = (w->fp + 16) | NATIVE_BY_FP;
	w->flags = UNWIND_RESTORED | UNWIND_NO_BASE | UNWIND_BY_FP | (w->flags & UNWIND_UNMAPPED);
	w->sp = w->fp + 16;
	w->fp = fp;
	w->ip = ra;
	return w->ip ? NATIVE_NONE : NATIVE_COMPLETE;
}

#include "trail.h"

/* ---- steps ------------------------------------------------------------------------------------ */

/*
 * Notes one frame in *out and goes to its caller. 0 to go on, 1 when the walk is over and w->reason
 * says how. A frame that has no address could not be followed.
 */
static __always_inline int unwind_step(struct native_walk *w, struct native_frame *out)
{
	/* A call may be the last instruction of its function. */
	__u64 at = w->ip - !(w->flags & UNWIND_EXACT);
	__u32 reason;

	out->ip = w->ip;
	out->frame_addr = 0;
	w->again = 0;
	if (w->leaves)
		unwind_note_state(w);
	w->cnt++;
	w->apart++;
	reason = unwind_find_rule(w, at) ? unwind_by_fp(w, out) : unwind_by_rule(w, out);
	if (w->leaves)
		unwind_note_step(w, w->cnt - 1);
	else
		unwind_meet_trail(w);
	if (reason != NATIVE_NONE) {
		w->reason = reason;
		return 1;
	}
	return w->cnt >= KRAIT_MAX_NATIVE;
}

#endif /* KRAIT_UNWIND_H */
