/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pages.h - caches the target's memory in pieces of 1 KiB, for walks that read many words near each
 * other.
 *
 * bpf_probe_read_user() takes 90 ns however little it reads, and 180 ns for 4 KiB that are in the
 * cache (measured: 6.18, EPYC, user-pointer sanitization and SMAP); a native stack of 30 frames
 * lies in 4 to 8 KiB. At a thousand samples a second little of that is still in the CPU's cache,
 * and each line costs more than its share of a call. So pieces of 1 KiB pay off, because they leave
 * out memory below the leaf and between distant frames: a sample takes 10 to 15 % less time than
 * with pages of 4 KiB (2 KiB: the same, and more at higher rates). Callers want one word or a few
 * from a piece. A piece lies within a page, which is present as a whole or not at all, so reading
 * the piece faults only if reading the word would.
 *
 * Must hold: struct pages holds only what was read in this interrupt, since pages_begin() forgets
 * the rest. Callers read only the interrupted thread's own stacks through it (C stack, Python
 * frames). These do not change during the interrupt, so it does not matter when they were read.
 */
#ifndef KRAIT_BPF_NATIVE_PAGES_H
#define KRAIT_BPF_NATIVE_PAGES_H

#include "bpf/bounds.h"
#include "bpf/read.h"

#define PAGES_SHIFT 10
#define PAGES_WORDS_SHIFT (PAGES_SHIFT - 3)
/* Direct-mapped by address: more than most stacks have. From here on "page" means such a piece. */
#define PAGES_CNT 16U
/* Most words that a caller may ask for at once. */
#define PAGES_WINDOW 16

struct pages {
	READ_MEMBER
	__u64 tags[PAGES_CNT]; /* 1 + number of the page held; 0 none */
	__u64 asked[PAGES_CNT]; /* likewise, the page from which something was read directly */
	__u64 words[(PAGES_CNT << PAGES_WORDS_SHIFT) + PAGES_WINDOW];
};

/* What an earlier walk asked for may stay: it decides only how much is read at once. */
static __always_inline void pages_begin(struct pages *p)
{
	for (__u32 i = 0; i < PAGES_CNT; i++)
		p->tags[i] = 0;
}

/* Loads the page that contains addr. Returns 0, or nonzero if it cannot be read. */
static __always_inline int pages_fill(struct pages *p, __u64 addr)
{
	__u64 number = addr >> PAGES_SHIFT;
	__u32 place = masked((__u32)number, PAGES_CNT - 1);

	p->tags[place] = 0;
	if (read_from(p, &p->words[place << PAGES_WORDS_SHIFT], 1U << PAGES_SHIFT,
		      number << PAGES_SHIFT))
		return -1;
	p->tags[place] = number + 1;
	return 0;
}

static __always_inline bool pages_has(const struct pages *p, __u64 addr)
{
	return p->tags[masked((__u32)(addr >> PAGES_SHIFT), PAGES_CNT - 1)] ==
	       (addr >> PAGES_SHIFT) + 1;
}

/* The word at addr; pages_has(addr) must be true. */
static __always_inline __u64 pages_word(const struct pages *p, __u64 addr)
{
	return p->words[masked((__u32)(addr >> 3), (PAGES_CNT << PAGES_WORDS_SHIFT) - 1)];
}

/* The same for several words. */
static __always_inline void pages_window(const struct pages *p, __u8 *window, __u32 size,
					 __u64 addr)
{
	const __u64 *from =
		&p->words[masked((__u32)(addr >> 3), (PAGES_CNT << PAGES_WORDS_SHIFT) - 1)];

	for (__u32 i = 0; i < size / 8; i++)
		((__u64 *)window)[i] = from[i];
}

/*
 * Is the page worth reading for this window? Only on the second request for the same page, because
 * frames lie either many to a page or far apart.
 */
static __always_inline bool pages_is_asked(struct pages *p, __u64 addr)
{
	__u32 place = masked((__u32)(addr >> PAGES_SHIFT), PAGES_CNT - 1);
	__u64 number = addr >> PAGES_SHIFT;
	bool asked = p->asked[place] == number + 1;

	p->asked[place] = number + 1;
	return asked;
}

static __always_inline bool pages_may_have(__u64 addr, __u32 size)
{
	return !(addr & 7) && (addr & ((1U << PAGES_SHIFT) - 1)) + size <= 1U << PAGES_SHIFT;
}

#endif /* KRAIT_BPF_NATIVE_PAGES_H */
