/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_walk.h - the state of a walk along the C side of a stack: what each step of it knows (unwind.h), and how it
 * begins.
 */
#ifndef KRAIT_NATIVE_WALK_H
#define KRAIT_NATIVE_WALK_H

#include "pages.h"
#include "unwind_arch.h"

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
	UNWIND_OF_LEAF = 256, /* the frame has called the leaf */
	UNWIND_NO_ROWS =
		128, /* the file's rows are still to be read: its frame pointer says nothing */
};

/* A step of an earlier walk: trail.h. */
struct trail_step {
	__u64 ip, sp, fp, base_addr; /* the state */
	__u64 fp_addr; /* where the caller's frame pointer was read, 0: it was not */
	__u32 flags;
	__u32 again; /* it read the word below the next step's sp and the one at fp_addr, nothing else */
};

struct trail {
	__u64 tag, epoch; /* of the tables; unwind_tag() */
	__u32 cnt; /* 0: there is none */
	__u32 stale; /* the next walk should leave another */
	struct trail_step steps[KRAIT_MAX_NATIVE];
};

/* On the host the tables have an owner, who is to be set before anything else. */
#ifdef __bpf__
#define TABLES_MEMBER
#else
#define TABLES_MEMBER const struct unwind_tables *tables;
#endif

/* Loop state; in per-CPU memory. */
struct native_walk {
	READ_MEMBER
	TABLES_MEMBER
	__u64 ip, sp, fp; /* of the frame that is next */
	/* The previous frame's mapping: the next frame is usually in the same one. */
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
	__u32 before,
		after; /* so many addresses right before and behind the one looked up have the same rule */
	__u64 epoch;
	__u64 base_addr; /* where the base register was saved, 0: nowhere yet */
	struct unwind_rule rule;
	__u64 regs[UNWIND_REGS]; /* at the leaf, by DWARF's numbers */
	__u64 fp_addr; /* of the step: where fp was read, 0 nowhere */
	__u32 again; /* of the step: see struct trail_step */
	__u32 leaves; /* a new trail */
	__u32 follows; /* the trail, at the step trail_at, whose state is this walk's */
	__u32 trail_at;
	__u32 apart; /* steps that it made by itself */
	struct pages stack;
	struct trail trail; /* outlives the walk */
};

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

/* Names the tables, and a time in which a file that is used need not be noted. */
static __always_inline __u64 unwind_tag(const struct native_walk *w)
{
	return (__u64)w->space << 32 | (w->epoch & 0xffffff) << 8 | (w->now >> 3 & 0xff);
}

#endif /* KRAIT_NATIVE_WALK_H */
