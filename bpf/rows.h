/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rows.h - how to get from a frame to its caller, for every address of a file: the tables that user
 * space makes of .eh_frame (user/unwind/) and unwind.h follows.
 *
 * A file is cut into pages of 64 KiB by file offset. A page has rows sorted by offset; each is one word:
 * where it begins within the page, and a rule that holds up to the next row. The first row of a page
 * begins at 0. Files share nothing, and few have more than a hundred different rules, so 16 bytes a
 * rule cost little.
 *
 * No includes: as abi.h.
 */
#ifndef KRAIT_ROWS_H
#define KRAIT_ROWS_H

#define UNWIND_PAGE_SHIFT 16
#define UNWIND_PAGE_SIZE (1U << UNWIND_PAGE_SHIFT)

/* A row: offset within the page in the lower half, number of the rule in the upper. */
#define UNWIND_ROW(offset, rule) ((offset) | (__u32)(rule) << 16)
#define UNWIND_ROW_OFFSET(row) ((row)&0xffff)
#define UNWIND_ROW_RULE(row) ((row) >> 16)
/* The first rule of every file: nothing is known of that code. */
#define UNWIND_NO_RULE 0
#define UNWIND_RULES_MAX 65535U

/* How the frame's canonical address (CFA) is found: the stack pointer's value in the caller. */
enum unwind_cfa {
	UNWIND_CFA_NONE, /* unknown, or in a form that krait does not know */
	UNWIND_CFA_REG, /* reg + off */
	UNWIND_CFA_DEREF, /* [reg + off] + add */
	UNWIND_CFA_PLT, /* sp + off, and 8 more from byte add of 16 on (stubs that have pushed) */
	/* sp + off right behind clone's system call, for who has called it; the new thread has 0 in register reg, and no caller */
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
	UNWIND_RA_REG, /* in the register with number ra_off, at the leaf (vfork, while it is in the kernel) */
	UNWIND_RA_KIND = 3,
	/* The frame was interrupted by a signal: its caller is exactly where the address says. */
	UNWIND_RA_SIGNAL = 4,
};

struct unwind_rule {
	__u8 cfa; /* enum unwind_cfa */
	__u8 reg; /* DWARF's number */
	__u8 fp; /* enum unwind_fp */
	__u8 ra; /* enum unwind_ra */
	__s32 off;
	__s16 fp_off;
	__s16 add;
	__s16 ra_off;
	__s16 base_off; /* of the base register, as that of the return address; 0: still in there */
};
#define UNWIND_BASE_UNKNOWN (-32768)
_Static_assert(sizeof(struct unwind_rule) == 16, "struct unwind_rule is shared with BPF");

/*
 * Memory for all of it: slabs of words, made as they are needed. A position is a number of a word,
 * counted through all slabs; 0 is none. What belongs together (the rows of a page, the pages of a file,
 * its rules, the mappings of a process) lies in one slab, at an even position.
 *
 * Must hold: user space writes what nothing leads to yet. What something has led to it takes back by
 * changing unwind_control.epoch first: a walk that sees another epoch at its end than at its beginning
 * may have read anything, and is no walk.
 */
#define UNWIND_SLAB_SHIFT 19
#define UNWIND_SLAB_WORDS (1U << UNWIND_SLAB_SHIFT)
#define UNWIND_SLABS_MAX 256 /* 512 MiB */
/* Behind the end: what is read from the last position on. */
#define UNWIND_SLAB_REST 8

struct unwind_slab {
	__u32 words[UNWIND_SLAB_WORDS + UNWIND_SLAB_REST];
};

/* A file, by number: 0 is none. */
/* Unit of time that a file was last of use: 2^30 ns. */
#define UNWIND_NOW_SHIFT 30
#define UNWIND_FILES_MAX 8192
struct unwind_file {
	__u32 state; /* enum unwind_file_state; written last, and taken back first */
	__u32 first_page;
	__u32 page_cnt;
	__u32 pages; /* position: struct unwind_page of each */
	__u32 rules; /* position */
	__u32 rule_cnt;
	__u32 used; /* the kernel: when it was last of use */
	__u32 wanted; /* the kernel: a walk has come by, and there were no rows (yet, or any more) */
};
_Static_assert(sizeof(struct unwind_file) == 32, "struct unwind_file is shared with BPF");

enum unwind_file_state {
	UNWIND_FILE_UNKNOWN, /* no rows so far */
	UNWIND_FILE_ROWS,
	UNWIND_FILE_NONE, /* it has none: frame pointers are all there is */
};

struct unwind_page {
	__u32 rows; /* position */
	__u32 row_cnt;
};

/* A mapping of code: an address less bias is an offset of the file. */
struct unwind_mapping {
	__u64 start, end, bias;
	__u32 file; /* number */
	__u32 pad_;
};
_Static_assert(sizeof(struct unwind_mapping) == 32, "struct unwind_mapping is shared with BPF");
#define UNWIND_MAPPING_WORDS (sizeof(struct unwind_mapping) / sizeof(__u32))
#define UNWIND_MAPPINGS_MAX 16383

/*
 * The mappings of a process and its children, sorted, by number; 0 is none. Numbers are reused with another
 * generation: a process that still has the old one has no mappings.
 */
#define UNWIND_SPACES_MAX 16384U
#define UNWIND_SPACE(number, generation) ((number) | (generation) << 14)
#define UNWIND_SPACE_NUMBER(space) ((space) & (UNWIND_SPACES_MAX - 1))
#define UNWIND_SPACE_GENERATION(space) ((space) >> 14)
#define UNWIND_SPACE_CNT(cnt) UNWIND_SPACE_NUMBER(cnt)

/* Written in one go, as a word. */
struct unwind_space {
	__u32 mappings; /* position */
	__u32 cnt; /* and the generation, as a space has it */
} __attribute__((aligned(8), may_alias));
_Static_assert(sizeof(struct unwind_space) == 8, "struct unwind_space is written in one go");

/*
 * What a CPU has found lately, one line of memory instead of a dozen: the rule of the addresses from low to high of 64
 * that begin at a multiple of that. A leaf is rarely where it was, but mostly near that, and under the same rule.
 * tag: of which space, in which epoch, and about when: so a file that is found here is of use by the tables, too,
 * now and then.
 */
#define UNWIND_CACHE_SIZE 2048U
#define UNWIND_BLOCK_SHIFT 6
#define UNWIND_BLOCK_MASK ((1U << UNWIND_BLOCK_SHIFT) - 1)
#define UNWIND_CACHED(block, low, high)                                                            \
	((block) << UNWIND_BLOCK_SHIFT | (low) | (__u64)(high) << UNWIND_CACHED_HIGH)
/* No address of a program has a bit above this: x86-64 uses 56, arm64 52. */
#define UNWIND_CACHED_HIGH 58
#define UNWIND_CACHED_BLOCK (((1ULL << UNWIND_CACHED_HIGH) - 1) & ~(__u64)UNWIND_BLOCK_MASK)
struct unwind_cached {
	__u64 range, tag;
	struct unwind_rule rule;
};
_Static_assert(sizeof(struct unwind_cached) == 32, "two in a line of memory");

/* Which space a process has: value of the map unwind_procs, by host tgid. */
struct unwind_proc {
	__u64 start_ns; /* as in struct proc_info */
	__u32 space;
	__u32 pad_;
};

/* Least time between two wake-ups of user space for code whose mapping is unknown. */
#define UNWIND_WAKE_NS 5000000ULL

struct unwind_control {
	__u64 epoch;
	__u64 wake_ns; /* the kernel: when it woke user space last */
};

#endif /* KRAIT_ROWS_H */
