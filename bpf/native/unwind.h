/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind.h - walks the native stack, from the user registers to where the thread began.
 *
 * Each step finds the process's mapping that contains the address, the row of that mapping's file
 * that covers it, and the row's rule for the canonical frame address (CFA: the caller's stack
 * pointer), the return address and the frame pointer. rows.h describes the tables. A frame is
 * stored with its CFA: it lies on the stack below that and above the CFA of the frame that it
 * called, so user space can join native and Python frames by address (user/record/stack/join.h).
 *
 * If a file has no rows, or there is no file (a JIT's code), the frame pointer is followed if it
 * can be one: [fp] is the caller's fp, [fp + 8] the return address. Such a frame is marked in the
 * lowest bit of its address: nothing has proved it. If the rows have not been read yet the walk
 * ends: code with rows usually keeps no frame pointer, and the register then holds that of a caller
 * further up.
 *
 * A stack is whole if a row says that there is no return address (_start, clone), or if the return
 * address or the frame pointer is 0.
 *
 * Must hold: at most KRAIT_MAX_NATIVE steps; nothing in the tables or on the stack leads to a read
 * outside the tables and the target's memory; the stack pointer only grows, except in signal frames
 * (which lead to another stack).
 */
#ifndef KRAIT_BPF_NATIVE_UNWIND_H
#define KRAIT_BPF_NATIVE_UNWIND_H

#include "bpf/abi.h"
#include "bpf/bounds.h"
#include "bpf/native/walk_state.h"
#include "bpf/native/rows.h"
#include "bpf/native/trail.h"
#include "bpf/arch.h"
#include "bpf/native/unwind_find.h"

/* The largest believable stack, from the stack pointer up; only for frame pointers. */
#define NATIVE_MAX_SPAN (1ULL << 30)

/* ---- rules ------------------------------------------------------------------------------------ */

/*
 * The value of a register in this frame; at the leaf all are known. Some functions find their frame
 * by a register that calls may change (OpenSSL's AES-GCM), but call only code that leaves it alone:
 * at the leaf's caller it has the same value as at the leaf. Returns 0 or -1.
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
	__u64 cfa = 0, least = 8;

	/* For clone, reg tells the two threads apart: see unwind_is_outermost(). */
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
	/*
	 * A frame has at least its return address, unless that is in a register, or a leaf's in its caller's frame. A
	 * frame that a signal interrupted may be on any stack.
	 */
	if (r->ra == UNWIND_RA_REG ||
	    (UNWIND_RA_IN_REGISTER && r->ra_off >= 0 && w->flags & UNWIND_LEAF))
		least = 0;
	if (cfa & 7 || (cfa < w->sp + least && !(r->ra & UNWIND_RA_SIGNAL)))
		return NATIVE_NO_RULE;
	*ret = cfa;
	return NATIVE_NONE;
}

/* Finds the caller's frame pointer. */
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

/* Notes where the caller's base register is; it is read only if a rule needs it. */
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

/*
 * If the step depends only on its state, the return address and the word at w->fp_addr: how far the return address is
 * below the CFA; else 0.
 */
static __always_inline __u32 unwind_again(const struct native_walk *w)
{
	const struct unwind_rule *r = &w->rule;

	if ((r->reg != UNWIND_REG_SP && r->reg != UNWIND_REG_FP) ||
	    (r->cfa != UNWIND_CFA_REG && r->cfa != UNWIND_CFA_PLT) || r->ra != UNWIND_RA_CFA)
		return 0;
	if (UNWIND_RA_IN_REGISTER)
		return r->ra_off < 0 ? (__u32) - (__s32)r->ra_off : 0;
	return r->ra_off == -8 ? 8 : 0;
}

static __always_inline int unwind_note_rule(struct native_walk *w, __u64 cfa)
{
	unwind_base(w, cfa);
	w->again = unwind_again(w);
	return 0;
}

/* In the kernel it is a global function (loops.h), as many paths lead here. */
#ifdef __bpf__
int unwind_note_rule_apart(__u32 memory, __u64 cfa);
#define UNWIND_NOTE_RULE(w, cfa) unwind_note_rule_apart((w)->context, cfa)
#else
#define UNWIND_NOTE_RULE(w, cfa) unwind_note_rule(w, cfa)
#endif

/* Is there no caller? */
static __always_inline bool unwind_is_outermost(const struct native_walk *w)
{
	const struct unwind_rule *r = &w->rule;

	if (r->cfa == UNWIND_CFA_CLONE)
		return w->flags & UNWIND_LEAF && !w->regs[masked(r->reg, UNWIND_REGS - 1)];
	return (r->ra & UNWIND_RA_KIND) == UNWIND_RA_UNDEFINED;
}

/* Finds the return address. Returns 0, or the reason why not. */
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

/* Goes from the frame to its caller by w's rule. Returns NATIVE_NONE, or the reason why not. */
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
	UNWIND_NOTE_RULE(w, cfa);
	out->frame_addr = cfa;
	if (r->ra & UNWIND_RA_SIGNAL)
		kept = UNWIND_EXACT;
	else if (w->flags & UNWIND_LEAF)
		kept = UNWIND_OF_LEAF;
	w->flags &= ~(UNWIND_EXACT | UNWIND_LEAF | UNWIND_OF_LEAF | UNWIND_BY_FP);
	w->flags |= kept;
	w->sp = cfa;
	w->ip = UNWIND_CODE_ADDR(ra);
	return w->ip ? NATIVE_NONE : NATIVE_COMPLETE;
}

/* The same by the frame pointer, unless something says that there is none. */
static __always_inline __u32 unwind_by_fp(struct native_walk *w, struct native_frame *out)
{
	__u64 fp = 0, ra = 0;

	if (w->flags & UNWIND_NO_ROWS)
		return NATIVE_NO_ROWS;
	/*
	 * Processes and threads start with zero in fp. Before fp was restored from memory, zero
	 * means nothing.
	 */
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
	w->ip = UNWIND_CODE_ADDR(ra);
	return w->ip ? NATIVE_NONE : NATIVE_COMPLETE;
}

/* ---- steps ------------------------------------------------------------------------------------ */

/*
 * Is the rule of no use after a frame pointer? Where it points into the middle of its frame, it does not tell the caller's
 * stack pointer; but compilers for such machines keep frame pointers everywhere.
 */
static __always_inline bool unwind_lacks_sp(const struct native_walk *w)
{
	return UNWIND_RA_IN_REGISTER && w->flags & UNWIND_BY_FP && w->rule.reg == UNWIND_REG_SP &&
	       !unwind_is_outermost(w);
}

/*
 * Stores one frame in *out and goes to its caller. Returns 0 to go on, 1 when the walk is over and
 * w->reason is set. A frame whose frame_addr is 0 could not be followed.
 */
static __always_inline int unwind_step(struct native_walk *w, struct native_frame *out)
{
	/* A call may be the last instruction of its function, so look up the address before. */
	__u64 at = w->ip - !(w->flags & UNWIND_EXACT);
	__u32 reason;

	out->ip = w->ip;
	out->frame_addr = 0;
	w->again = 0;
	if (w->leaves)
		unwind_note_state(w);
	w->cnt++;
	w->apart++;
	reason = unwind_find_rule(w, at) || unwind_lacks_sp(w) ? unwind_by_fp(w, out) :
								 unwind_by_rule(w, out);
	UNWIND_SETTLE_STEP(w);
	if (reason != NATIVE_NONE) {
		w->reason = reason;
		return 1;
	}
	return w->cnt >= KRAIT_MAX_NATIVE;
}

#endif /* KRAIT_BPF_NATIVE_UNWIND_H */
