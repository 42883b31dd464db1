/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * walk_state.h - the state of a native stack walk: what each step knows (unwind.h), and how it
 * begins.
 */
#ifndef KRAIT_BPF_NATIVE_WALK_STATE_H
#define KRAIT_BPF_NATIVE_WALK_STATE_H

#include "bpf/abi.h"
#include "bpf/native/pages.h"
#include "bpf/read.h"
#include "bpf/native/rows.h"
#include "bpf/arch.h"

/* The user registers that the unwinder needs. */
struct native_regs {
	__u64 ip, sp, fp;
};

enum unwind_flag {
	/* ip is the exact position: at the leaf, and in a frame that a signal interrupted */
	UNWIND_EXACT = 1,
	UNWIND_LEAF = 2, /* regs are this frame's */
	UNWIND_NO_FP = 4, /* fp's value is unknown */
	UNWIND_RESTORED = 8, /* fp was read from memory; before that it may be any number */
	UNWIND_NO_BASE = 16, /* the base register's value is unknown */
	UNWIND_BY_FP = 64, /* only the frame pointer led here */
	/* the leaf's address or one that a row led to is in no mapping, or has no rows yet */
	UNWIND_UNMAPPED = 32,
	UNWIND_OF_LEAF = 256, /* this frame called the leaf */
	/* the file's rows have not been read yet, so its frame pointer means nothing */
	UNWIND_NO_ROWS = 128,
};

/* A step of an earlier walk: trail.h. */
struct trail_step {
	__u64 ip, sp, fp, base_addr; /* the state before the step */
	__u64 fp_addr; /* where the caller's frame pointer was read; 0: it was not */
	__u32 flags;
	/*
	 * the step read nothing but the return address, so many bytes below the next step's sp, and the
	 * word at fp_addr; 0: it read something else
	 */
	__u32 again;
};

struct trail {
	__u64 tag, epoch; /* of the tables: unwind_tag() */
	__u32 cnt; /* 0: no trail */
	__u32 stale; /* the next walk should leave a new trail */
	struct trail_step steps[KRAIT_MAX_NATIVE];
};

/* On the host the tables have an owner, which must be set first. */
#ifdef __bpf__
#define TABLES_MEMBER
#else
#define TABLES_MEMBER const struct unwind_tables *tables;
#endif

/* Loop state; in per-CPU memory. */
struct native_walk {
	READ_MEMBER
	TABLES_MEMBER
	__u64 ip, sp, fp; /* of the next frame */
	/* Mapping of the previous frame: the next frame is usually in the same one. */
	__u64 start, end, bias;
	__u32 file; /* file of that mapping; 0 none */
	__u32 mappings, mapping_cnt; /* mappings of the process */
	__u32 space; /* number of the process's space; 0 none */
	__u32 context; /* whose cache to use: this CPU's, in this context */
	__u32 flags; /* enum unwind_flag */
	__u32 now; /* in units of 2^30 ns */
	__u32 cnt; /* frames stored */
	__u32 reason; /* enum native_reason, valid when unwind_step() returned 1 */
	/* position of a search, in memory, so that verifiers do not track its value; and what is searched */
	volatile __u32 at;
	__u32 base, element_cnt, shift;
	__u64 key, mask;
	__u32 before,
		/* addresses right before and after the one looked up that have the same rule */
		after;
	__u64 epoch;
	__u64 word; /* what unwind_read_word() has read */
	__u64 base_addr; /* where the base register was saved; 0: not saved yet */
	struct unwind_rule rule;
	__u64 regs[UNWIND_REGS]; /* at the leaf, by DWARF number */
	__u64 fp_addr; /* where this step read fp; 0: nowhere */
	__u32 again; /* see struct trail_step */
	__u32 leaves; /* this walk records a new trail */
	__u32 follows; /* this walk matches the trail, at step trail_at */
	__u32 trail_at;
	__u32 apart; /* steps made without the trail */
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

/* Identifies the tables and a span of time within which a file's use need not be noted again. */
static __always_inline __u64 unwind_tag(const struct native_walk *w)
{
	return (__u64)w->space << 32 | (w->epoch & 0xffffff) << 8 | (w->now >> 3 & 0xff);
}

/* Reads a word of the stack into w->word, by itself if its page cannot be read. */
static __always_inline int unwind_read_word(struct native_walk *w, __u64 addr)
{
	if (!(addr & 7) && pages_has(&w->stack, addr)) {
		w->word = pages_word(&w->stack, addr);
		return 0;
	}
	if (addr & 7 || pages_fill(&w->stack, addr))
		return read_from_u64(w, &w->word, addr);
	w->word = pages_word(&w->stack, addr);
	return 0;
}

#ifdef __bpf__
/* A global function: the verifier follows it once, not in each place that reads a word. */
int unwind_read_apart(__u32 memory, __u64 addr);
#define UNWIND_READ(w, addr) unwind_read_apart((w)->context, addr)
#else
#define UNWIND_READ(w, addr) unwind_read_word(w, addr)
#endif

/* Reads a word of the stack. Returns 0, or an error. */
static __always_inline int unwind_read(struct native_walk *w, __u64 *ret, __u64 addr)
{
	if (UNWIND_READ(w, addr))
		return -1;
	*ret = w->word;
	return 0;
}

/* The same where most frames come by. */
static __always_inline int unwind_read_fast(struct native_walk *w, __u64 *ret, __u64 addr)
{
	if (addr & 7 || !pages_has(&w->stack, addr))
		return unwind_read(w, ret, addr);
	*ret = pages_word(&w->stack, addr);
	return 0;
}

#endif /* KRAIT_BPF_NATIVE_WALK_STATE_H */
