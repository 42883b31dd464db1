/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rows.h - how to get from a frame to its caller, for every address of a file: the tables that user
 * space makes from .eh_frame (user/native/rows/) and that unwind.h uses.
 *
 * A file is cut into pages of 64 KiB by file offset. A page has rows sorted by offset. Each row is
 * one word: its offset within the page, and the number of a rule that holds up to the next row. The
 * first row of a page is at offset 0. Rules belong to one file, and few files have more than a
 * hundred different ones, so 16 bytes per rule cost little.
 *
 * Includes nothing, like abi.h.
 */
#ifndef KRAIT_BPF_NATIVE_ROWS_H
#define KRAIT_BPF_NATIVE_ROWS_H

#include "bpf/types.h"

#define UNWIND_PAGE_SHIFT 16
#define UNWIND_PAGE_SIZE (1U << UNWIND_PAGE_SHIFT)

/* A row: offset within the page in the lower half, number of the rule in the upper. */
#define UNWIND_ROW(offset, rule) ((offset) | (__u32)(rule) << 16)
#define UNWIND_ROW_OFFSET(row) ((row)&0xffff)
#define UNWIND_ROW_RULE(row) ((row) >> 16)
/* The first rule of every file: nothing is known about that code. */
#define UNWIND_NO_RULE 0
#define UNWIND_RULES_MAX 65535U

/* How to find the frame's canonical frame address (CFA): the stack pointer's value in the caller. */
enum unwind_cfa {
	UNWIND_CFA_NONE, /* unknown, or in a form that krait does not support */
	UNWIND_CFA_REG, /* reg + off */
	UNWIND_CFA_DEREF, /* [reg + off] + add */
	/* sp + off, plus 8 from byte add of 16 on (stubs that have pushed a word) */
	UNWIND_CFA_PLT,
	/*
	 * sp + off, right after clone's system call, in the thread that called it. The new thread
	 * has 0 in register reg, and no caller.
	 */
	UNWIND_CFA_CLONE,
};

/* Where the caller's frame pointer is. */
enum unwind_fp {
	UNWIND_FP_SAME, /* still in the register */
	UNWIND_FP_CFA, /* [CFA + fp_off] */
	UNWIND_FP_SP, /* [sp + fp_off] */
	UNWIND_FP_FP, /* [fp + fp_off] */
	UNWIND_FP_UNKNOWN,
};

/* Where the return address is. */
enum unwind_ra {
	UNWIND_RA_CFA, /* [CFA + ra_off] */
	UNWIND_RA_SP, /* [sp + ra_off] */
	UNWIND_RA_UNDEFINED, /* nowhere: this is the outermost frame */
	/* in the register with number ra_off, at the leaf (vfork while it is in the kernel) */
	UNWIND_RA_REG,
	UNWIND_RA_KIND = 3,
	/* A signal interrupted the caller, so the address is exactly where the caller stopped. */
	UNWIND_RA_SIGNAL = 4,
};

struct unwind_rule {
	__u8 cfa; /* enum unwind_cfa */
	__u8 reg; /* DWARF number */
	__u8 fp; /* enum unwind_fp */
	__u8 ra; /* enum unwind_ra */
	__s32 off;
	__s16 fp_off;
	__s16 add;
	__s16 ra_off;
	/*
	 * where the base register is saved, relative to the CFA like ra_off; 0: still in the
	 * register
	 */
	__s16 base_off;
};
#define UNWIND_BASE_UNKNOWN (-32768)
_Static_assert(sizeof(struct unwind_rule) == 16, "struct unwind_rule is shared with BPF");

/*
 * Memory for all tables: slabs of words, made on demand. A position is the number of a word,
 * counted through all slabs; 0 is none. Whatever belongs together (the rows of a page, the pages of
 * a file, its rules, the mappings of a process) lies in one slab, at an even position.
 *
 * Must hold: user space writes only where nothing points to yet. To take back what something has
 * pointed to, it first changes unwind_control.epoch: a walk that sees another epoch at its end than
 * at its beginning may have read anything, and is discarded.
 */
#define UNWIND_SLAB_SHIFT 19
#define UNWIND_SLAB_WORDS (1U << UNWIND_SLAB_SHIFT)
#define UNWIND_SLABS_MAX 256 /* 512 MiB */
/* Words after the end of a slab that a read from its last position may touch. */
#define UNWIND_SLAB_REST 8

struct unwind_slab {
	__u32 words[UNWIND_SLAB_WORDS + UNWIND_SLAB_REST];
};

/* A file, by number; 0 is none. */
/* Unit of the time of a file's last use: 2^30 ns. */
#define UNWIND_NOW_SHIFT 30
#define UNWIND_FILES_MAX 8192
struct unwind_file {
	__u32 state; /* enum unwind_file_state; written last, and reset first */
	__u32 first_page;
	__u32 page_cnt;
	__u32 pages; /* position: struct unwind_page of each */
	__u32 rules; /* position */
	__u32 rule_cnt;
	__u32 used; /* written by the kernel: time of last use */
	/* written by the kernel: a walk found no rows here (not read yet, or dropped) */
	__u32 wanted;
};
_Static_assert(sizeof(struct unwind_file) == 32, "struct unwind_file is shared with BPF");

enum unwind_file_state {
	UNWIND_FILE_UNKNOWN, /* no rows yet */
	UNWIND_FILE_ROWS,
	UNWIND_FILE_NONE, /* it has no rows: only frame pointers can help */
};

struct unwind_page {
	__u32 rows; /* position */
	__u32 row_cnt;
};

/* A mapping of code: an address minus bias is an offset in the file. */
struct unwind_mapping {
	__u64 start, end, bias;
	__u32 file; /* number */
	__u32 pad_;
};
_Static_assert(sizeof(struct unwind_mapping) == 32, "struct unwind_mapping is shared with BPF");
#define UNWIND_MAPPING_SHIFT 3 /* log2 of its words */
#define UNWIND_MAPPING_WORDS (1U << UNWIND_MAPPING_SHIFT)
#define UNWIND_MAPPINGS_MAX 16383

/*
 * The sorted mappings of a process and its children, by number; 0 is none. A reused number gets
 * another generation: a process that still refers to the old one has no mappings.
 */
#define UNWIND_SPACES_MAX 16384U
#define UNWIND_SPACE(number, generation) ((number) | (generation) << 14)
#define UNWIND_SPACE_NUMBER(space) ((space) & (UNWIND_SPACES_MAX - 1))
#define UNWIND_SPACE_GENERATION(space) ((space) >> 14)
#define UNWIND_SPACE_CNT(cnt) UNWIND_SPACE_NUMBER(cnt)

/* Written at once, as a word. */
struct unwind_space {
	__u32 mappings; /* position */
	__u32 cnt; /* count, and the generation as in struct unwind_space */
} __attribute__((aligned(8), may_alias));
_Static_assert(sizeof(struct unwind_space) == 8, "struct unwind_space is written in one go");

/*
 * What a CPU has looked up lately, in one cache line instead of a dozen: the rule of the addresses
 * from low to high, within a block of 64 that begins at a multiple of 64. A leaf is rarely where it
 * was, but mostly near there and under the same rule. tag: which space, which epoch, and roughly
 * when. It expires, so that a file in constant use is also looked up in the tables, and noted as
 * used, now and then.
 */
#define UNWIND_CACHE_SIZE 2048U
#define UNWIND_BLOCK_SHIFT 6
#define UNWIND_BLOCK_MASK ((1U << UNWIND_BLOCK_SHIFT) - 1)
#define UNWIND_CACHED(block, low, high)                                                            \
	((block) << UNWIND_BLOCK_SHIFT | (low) | (__u64)(high) << UNWIND_CACHED_HIGH)
/* No user address has a bit above this: x86-64 uses 56, arm64 52. */
#define UNWIND_CACHED_HIGH 58
#define UNWIND_CACHED_BLOCK (((1ULL << UNWIND_CACHED_HIGH) - 1) & ~(__u64)UNWIND_BLOCK_MASK)
struct unwind_cached {
	__u64 range, tag;
	struct unwind_rule rule;
};
_Static_assert(sizeof(struct unwind_cached) == 32, "two in a line of memory");

/* Which space a process has: value of the map unwind_procs, keyed by host tgid. */
struct unwind_proc {
	__u64 start_ns; /* as in struct proc_info */
	__u32 space;
	__u32 pad_;
};

/* Least time between two wake-ups of user space because of code in unknown mappings. */
#define UNWIND_WAKE_NS 5000000ULL

struct unwind_control {
	__u64 epoch;
	__u64 wake_ns; /* written by the kernel: when it last woke user space */
};

#endif /* KRAIT_BPF_NATIVE_ROWS_H */
