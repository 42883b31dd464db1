/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * import_stacks.h - a cache of stacks: a program has some thousand, which recur again and again,
 * and each costs a look-up for every frame.
 *
 * A stack is identified by all of its addresses, compared one by one, and by its thread. There is
 * one place per hash: of two that share one, the later wins.
 */
#ifndef KRAIT_CAPTURE_IMPORT_IMPORT_STACKS_H
#define KRAIT_CAPTURE_IMPORT_IMPORT_STACKS_H

#include <linux/types.h>

/* 4,096 of the deepest take 16 MiB. */
#define IMPORT_STACKS_PLACES 4096U
#define IMPORT_STACKS_DEPTH 512U

struct import_stack {
	__u64 *chain;
	__u32 cnt, cap;
	__u32 thread; /* the node that it hangs on */
	__u32 node; /* node of the leaf; 0: none */
	__u32 epoch; /* when it was put */
};

/* All zero: empty. */
struct import_stacks {
	struct import_stack *places; /* NULL until the first one is put */
	__u32 epoch; /* entries of other epochs are invalid */
};

void import_stacks_free(struct import_stacks *s);
/* Forgets everything: addresses mean something else from now on. */
void import_stacks_clear(struct import_stacks *s);
/* The leaf's node; 0: unknown. */
__u32 import_stacks_find(const struct import_stacks *s, __u32 thread, const __u64 *chain,
			 unsigned cnt);
/* Stores it, if there is memory. */
void import_stacks_put(struct import_stacks *s, __u32 thread, const __u64 *chain, unsigned cnt,
		       __u32 node);

#endif /* KRAIT_CAPTURE_IMPORT_IMPORT_STACKS_H */
