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
 * The environment supplies, on the host the test and in the kernel unwind_maps.h:
 *   const struct unwind_slab *unwind_slab(__u32 number)
 *   struct unwind_file *unwind_file_at(__u32 number)
 *   const struct unwind_space *unwind_space_at(__u32 number)
 *   struct unwind_cached *unwind_cached_at(__u32 context, __u32 number)     each may be NULL
 *
 * Must hold: at most KRAIT_MAX_NATIVE steps; nothing that the tables or the stack have leads to a read
 * anywhere but in the tables and the target's memory; the stack pointer only grows, but for signal
 * frames (which lead to another stack).
 */
#ifndef KRAIT_UNWIND_H
#define KRAIT_UNWIND_H

#include "unwind_arch.h"

/* The largest stack that is believed, from the stack pointer up; for frame pointers only. */
#define NATIVE_MAX_SPAN (1ULL << 30)
/* Read in one go below the CFA: the return address, and mostly the frame pointer. */
#define UNWIND_WINDOW 8

/* What the unwinder needs of the user registers. */
struct native_regs {
	__u64 ip, sp, fp;
};

enum unwind_flag {
	UNWIND_EXACT = 1, /* ip is where the frame is: at the leaf, and where a signal came */
	UNWIND_LEAF = 2, /* regs are those of the frame */
	UNWIND_NO_FP = 4, /* nobody knows what fp was */
	UNWIND_RESTORED = 8, /* fp is from memory: before that it may be any number */
	UNWIND_NO_BASE = 16, /* nobody knows what the base register was */
	UNWIND_BY_FP = 64, /* a frame pointer has led here */
	UNWIND_UNMAPPED =
		32, /* an address that a row led to, or the leaf's, is in no mapping or has no rows yet */
	UNWIND_NO_ROWS =
		128, /* the file's rows are still to be read: its frame pointer says nothing */
};

/* Loop state; in per-CPU memory. */
struct native_walk {
	READ_MEMBER
	__u64 ip, sp, fp; /* of the frame that is next */
	/* The mapping of the frame before: the next is in the same, mostly. */
	__u64 start, end, bias;
	__u32 file; /* of it; 0 none */
	__u32 mappings, mapping_cnt; /* of the process */
	__u32 space; /* which that is, 0 none */
	__u32 context; /* whose cache is used: of this CPU, in this context */
	__u32 flags; /* enum unwind_flag */
	__u32 now; /* 2^30 ns */
	__u32 cnt; /* frames noted */
	__u32 reason; /* enum native_reason, valid when unwind_step() returned 1 */
	volatile __u32 at; /* of a search: in memory, where verifiers know nothing of it */
	__u64 epoch;
	__u64 base_addr; /* where the base register was saved, 0: nowhere yet */
	struct unwind_rule rule;
	__u64 regs[UNWIND_REGS]; /* at the leaf, by DWARF's numbers */
	__u64 window[UNWIND_WINDOW];
};

/* The mappings of a process become w's, if it has any. */
static __always_inline void unwind_enter(struct native_walk *w, __u32 space)
{
	const struct unwind_space *found = space ? unwind_space_at(UNWIND_SPACE_NUMBER(space)) :
						   NULL;
	__u64 word;

	w->space = 0;
	w->mapping_cnt = 0;
	if (!found)
		return;
	word = *(const volatile __u64 *)found;
	if (UNWIND_SPACE_GENERATION((__u32)(word >> 32)) != UNWIND_SPACE_GENERATION(space))
		return;
	w->space = space;
	w->mappings = (__u32)word;
	w->mapping_cnt = UNWIND_SPACE_CNT((__u32)(word >> 32));
}

static __always_inline void unwind_begin(struct native_walk *w, const struct native_regs *regs)
{
	w->ip = regs->ip;
	w->sp = regs->sp;
	w->fp = regs->fp;
	w->start = w->end = 0;
	w->file = 0;
	w->base_addr = 0;
	w->flags = UNWIND_EXACT | UNWIND_LEAF;
	w->cnt = 0;
	w->reason = NATIVE_LIMIT;
}

/* ---- tables ----------------------------------------------------------------------------------- */

#define UNWIND_WORD(slab, position) ((slab)->words[(position) & (UNWIND_SLAB_WORDS - 1)])

/* Eight bytes at a position, which is even. */
static __always_inline __u64 unwind_word64(const struct unwind_slab *slab, __u32 position)
{
	return UNWIND_WORD(slab, position) | (__u64)UNWIND_WORD(slab, position + 1) << 32;
}

/* The mapping that the address is in becomes w's. 0; -1 there is none. */
static __always_inline int unwind_find_mapping(struct native_walk *w, __u64 ip)
{
	const struct unwind_slab *slab;
	__u32 base = w->mappings, cnt = w->mapping_cnt, step;

	if (ip - w->start < w->end - w->start)
		return 0;
	w->start = w->end = 0;
	w->file = 0;
	if (!cnt || ip >> 63)
		return -1;
	slab = unwind_slab(base >> UNWIND_SLAB_SHIFT);
	if (!slab)
		return -1;
	/* The last one that begins at or before ip; if none does it is the first, which ip is not in. */
	w->at = 0;
	for (step = UNWIND_SPACES_MAX / 2; step; step /= 2) {
		__u32 next = w->at + step;

		if (next < cnt && unwind_word64(slab, base + next * UNWIND_MAPPING_WORDS) <= ip)
			w->at = next;
	}
	base += w->at * UNWIND_MAPPING_WORDS;
	w->start = unwind_word64(slab, base);
	w->end = unwind_word64(slab, base + 2);
	w->bias = unwind_word64(slab, base + 4);
	w->file = UNWIND_WORD(slab, base + 6);
	if (ip >= w->start && ip < w->end)
		return 0;
	w->start = w->end = 0;
	w->file = 0;
	return -1;
}

/* The number of the rule for an offset within its page, of rows at a position; 0 none. */
static __always_inline __u32 unwind_search(struct native_walk *w, const struct unwind_slab *slab,
					   __u32 rows, __u32 cnt, __u32 offset, __u32 first_step)
{
	__u32 step;

	w->at = 0;
	for (step = first_step; step; step /= 2) {
		__u32 next = w->at + step;

		if (next < cnt && UNWIND_ROW_OFFSET(UNWIND_WORD(slab, rows + next)) <= offset)
			w->at = next;
	}
	return UNWIND_ROW_RULE(UNWIND_WORD(slab, rows + w->at));
}

/* The rows of the page that an offset of a file is in. */
static __always_inline __u32 unwind_rule_number(struct native_walk *w, const struct unwind_file *f,
						__u64 offset)
{
	__u64 page = (offset >> UNWIND_PAGE_SHIFT) - f->first_page;
	const struct unwind_slab *slab = unwind_slab(f->pages >> UNWIND_SLAB_SHIFT);
	__u32 position, rows, cnt;

	if (!slab || page >= f->page_cnt)
		return UNWIND_NO_RULE;
	position = f->pages + 2 * (__u32)page;
	rows = UNWIND_WORD(slab, position);
	cnt = UNWIND_WORD(slab, position + 1);
	slab = unwind_slab(rows >> UNWIND_SLAB_SHIFT);
	if (!slab)
		return UNWIND_NO_RULE;
	offset &= UNWIND_PAGE_SIZE - 1;
	if (cnt <= 2048)
		return unwind_search(w, slab, rows, cnt, (__u32)offset, 1024);
	return unwind_search(w, slab, rows, cnt, (__u32)offset, UNWIND_PAGE_SIZE / 2);
}

static __always_inline int unwind_look_up(struct native_walk *w, __u64 ip)
{
	const struct unwind_slab *slab;
	struct unwind_file *f;
	__u32 number, at;

	if (unwind_find_mapping(w, ip)) {
		if (!(w->flags & UNWIND_BY_FP))
			w->flags |= UNWIND_UNMAPPED;
		return -1;
	}
	f = w->file ? unwind_file_at(w->file) : NULL;
	if (!f)
		return -1;
	if (f->used != w->now)
		f->used = w->now;
	if (f->state != UNWIND_FILE_ROWS) {
		if (f->state == UNWIND_FILE_UNKNOWN) {
			w->flags |= UNWIND_NO_ROWS | UNWIND_UNMAPPED;
			if (!f->wanted)
				f->wanted = 1;
		}
		return -1;
	}
	number = unwind_rule_number(w, f, ip - w->bias);
	if (number == UNWIND_NO_RULE || number >= f->rule_cnt)
		return -1;
	at = f->rules + number * (__u32)(sizeof(struct unwind_rule) / sizeof(__u32));
	slab = unwind_slab(at >> UNWIND_SLAB_SHIFT);
	if (!slab)
		return -1;
	__builtin_memcpy(&w->rule, &UNWIND_WORD(slab, at), sizeof(w->rule));
	return 0;
}

/*
 * In the kernel it is a global function (loops.h), which is verified once and not again on each way that
 * leads here.
 */
#ifdef __bpf__
int unwind_look_up_apart(__u32 memory, __u64 ip);
#define UNWIND_LOOK_UP(w, ip) unwind_look_up_apart((w)->context, ip)
#else
#define UNWIND_LOOK_UP(w, ip) unwind_look_up(w, ip)
#endif

/* The cached answer for an address, or whose place it takes. */
static __always_inline struct unwind_cached *unwind_cached(const struct native_walk *w, __u64 ip)
{
	__u64 hash = (ip ^ w->space) * 0x9e3779b97f4a7c15ULL;

	return unwind_cached_at(w->context, (__u32)(hash >> 40) & (UNWIND_CACHE_SIZE - 1));
}

/* The rule for an address becomes w's. 0; -1 there is none. */
static __always_inline int unwind_find_rule(struct native_walk *w, __u64 ip)
{
	__u64 tag = (__u64)w->space << 32 | (w->epoch & 0xffffff) << 8 | (w->now >> 3 & 0xff);
	struct unwind_cached *c = unwind_cached(w, ip);

	if (c && c->ip == ip && c->tag == tag) {
		w->rule = c->rule;
		return 0;
	}
	if (UNWIND_LOOK_UP(w, ip))
		return -1;
	c = unwind_cached(w, ip);
	if (c) {
		c->ip = ip;
		c->tag = tag;
		c->rule = w->rule;
	}
	return 0;
}

/* ---- rules ------------------------------------------------------------------------------------ */

/* What a register had in the frame; at the leaf all are known. 0 or -1. */
static __always_inline int unwind_reg(const struct native_walk *w, __u32 reg, __u64 *ret)
{
	if (reg == UNWIND_REG_SP) {
		*ret = w->sp;
		return 0;
	}
	if (reg == UNWIND_REG_FP) {
		*ret = w->fp;
		return w->flags & UNWIND_NO_FP ? -1 : 0;
	}
	if (reg == UNWIND_REG_BASE && w->base_addr)
		return w->flags & UNWIND_NO_BASE ? -1 : read_from(w, ret, 8, w->base_addr);
	if (!(w->flags & UNWIND_LEAF) && (reg != UNWIND_REG_BASE || w->flags & UNWIND_NO_BASE))
		return -1;
	*ret = w->regs[masked(reg, UNWIND_REGS - 1)];
	return 0;
}

static __always_inline int unwind_cfa(struct native_walk *w, __u64 *ret)
{
	const struct unwind_rule *r = &w->rule;
	__u64 cfa;

	if (unwind_reg(w, r->reg, &cfa))
		return NATIVE_NO_RULE;
	cfa += (__s64)r->off;
	if (r->cfa == UNWIND_CFA_DEREF) {
		if (read_from(w, &cfa, 8, cfa))
			return NATIVE_FAULT;
		cfa += (__s64)r->add;
	} else if (r->cfa == UNWIND_CFA_PLT) {
		cfa += (w->ip & 15) >= (__u64)r->add ? 8 : 0;
	}
	/* A frame has at least its return address; where a signal came from is on any stack. */
	if (cfa & 7 || (cfa <= w->sp && !(r->ra & UNWIND_RA_SIGNAL)))
		return NATIVE_NO_RULE;
	*ret = cfa;
	return NATIVE_NONE;
}

/* [CFA + off], which is in the window mostly. */
static __always_inline int unwind_saved(struct native_walk *w, __u64 cfa, __s64 off, __u64 *ret)
{
	__u64 word = (__u64)(off + 8 * UNWIND_WINDOW);

	if (word < 8 * UNWIND_WINDOW && !(word & 7)) {
		*ret = w->window[masked((__u32)(word >> 3), UNWIND_WINDOW - 1)];
		return 0;
	}
	return read_from(w, ret, 8, cfa + off);
}

/* The window has what is in memory, or, at the end of a mapping, the two words that matter most. */
static __always_inline int unwind_look(struct native_walk *w, __u64 cfa)
{
	if (!read_from(w, w->window, sizeof(w->window), cfa - sizeof(w->window)))
		return 0;
	return read_from(w, &w->window[UNWIND_WINDOW - 2], 16, cfa - 16);
}

/* The frame pointer of the caller. */
static __always_inline int unwind_fp(struct native_walk *w, __u64 cfa)
{
	const struct unwind_rule *r = &w->rule;
	__u64 base = w->sp;

	if (r->fp == UNWIND_FP_SAME)
		return NATIVE_NONE;
	if (r->fp == UNWIND_FP_UNKNOWN || (r->fp == UNWIND_FP_FP && w->flags & UNWIND_NO_FP)) {
		w->flags |= UNWIND_NO_FP;
		return NATIVE_NONE;
	}
	w->flags = (w->flags & ~UNWIND_NO_FP) | UNWIND_RESTORED;
	if (r->fp == UNWIND_FP_CFA)
		return unwind_saved(w, cfa, r->fp_off, &w->fp) ? NATIVE_FAULT : NATIVE_NONE;
	if (r->fp == UNWIND_FP_FP)
		base = w->fp;
	return read_from(w, &w->fp, 8, base + (__s64)r->fp_off) ? NATIVE_FAULT : NATIVE_NONE;
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

/* From the frame to its caller, by w's rule. The reason why not, or NATIVE_NONE. */
static __always_inline __u32 unwind_by_rule(struct native_walk *w, struct native_frame *out)
{
	const struct unwind_rule *r = &w->rule;
	__u64 cfa, ra = 0;
	__u32 kind = r->ra & UNWIND_RA_KIND, reason;

	if (kind == UNWIND_RA_UNDEFINED) {
		out->frame_addr = w->sp;
		return NATIVE_COMPLETE;
	}
	reason = unwind_cfa(w, &cfa);
	if (reason != NATIVE_NONE)
		return reason;
	if (kind == UNWIND_RA_CFA) {
		if (unwind_look(w, cfa) || unwind_saved(w, cfa, r->ra_off, &ra))
			return NATIVE_FAULT;
	} else if (read_from(w, &ra, 8, w->sp + (__s64)r->ra_off)) {
		return NATIVE_FAULT;
	}
	reason = unwind_fp(w, cfa);
	if (reason != NATIVE_NONE)
		return reason;
	unwind_base(w, cfa);
	out->frame_addr = cfa;
	w->flags &= ~(UNWIND_EXACT | UNWIND_LEAF | UNWIND_BY_FP);
	if (r->ra & UNWIND_RA_SIGNAL)
		w->flags |= UNWIND_EXACT;
	w->sp = cfa;
	w->ip = ra;
	return ra ? NATIVE_NONE : NATIVE_COMPLETE;
}

/* The same by the frame pointer, where nothing says that there is none. */
static __always_inline __u32 unwind_by_fp(struct native_walk *w, struct native_frame *out)
{
	if (w->flags & UNWIND_NO_ROWS)
		return NATIVE_NO_ROWS;
	/* Zero is what the start of a process and of a thread have; before it was restored it says nothing. */
	if (!w->fp && w->flags & UNWIND_RESTORED && !(w->flags & UNWIND_NO_FP)) {
		out->frame_addr = w->sp | NATIVE_BY_FP;
		return NATIVE_COMPLETE;
	}
	if (w->flags & UNWIND_NO_FP || w->fp & 7 || w->fp < w->sp ||
	    w->fp - w->sp >= NATIVE_MAX_SPAN)
		return NATIVE_NO_FRAME_POINTER;
	if (read_from(w, w->window, 16, w->fp))
		return NATIVE_FAULT;
	out->frame_addr = (w->fp + 16) | NATIVE_BY_FP;
	w->flags = UNWIND_RESTORED | UNWIND_NO_BASE | UNWIND_BY_FP | (w->flags & UNWIND_UNMAPPED);
	w->sp = w->fp + 16;
	w->fp = w->window[0];
	w->ip = w->window[1];
	return w->ip ? NATIVE_NONE : NATIVE_COMPLETE;
}

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
	w->cnt++;
	reason = unwind_find_rule(w, at) ? unwind_by_fp(w, out) : unwind_by_rule(w, out);
	if (reason != NATIVE_NONE) {
		w->reason = reason;
		return 1;
	}
	return w->cnt >= KRAIT_MAX_NATIVE;
}

#endif /* KRAIT_UNWIND_H */
