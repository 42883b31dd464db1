/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pieces.h - which words of the slabs (bpf/rows.h) are taken.
 *
 * Must hold: what is given back is not given out before pieces_settle() says that no walk can still be
 * reading it. A piece lies in one slab and begins at a multiple of eight bytes.
 */
#ifndef KRAIT_UNWIND_PIECES_H
#define KRAIT_UNWIND_PIECES_H

#include <linux/types.h>
#include <stdbool.h>

struct piece {
	__u32 at, words;
};

/* All zeroes at first. */
struct pieces {
	struct piece *free; /* by at */
	__u32 free_cnt, free_cap;
	struct piece *waiting; /* given back, not settled */
	__u32 waiting_cnt, waiting_cap;
};

void pieces_free(struct pieces *r);
/* The words of one more slab. 0 or -ENOMEM. */
int pieces_add_slab(struct pieces *r, __u32 number) __attribute__((warn_unused_result));
/* A position, or 0: there is no such piece. */
__u32 pieces_take(struct pieces *r, __u32 words);
/* Position 0 is no piece. If there is no memory to note it, the piece is lost. */
void pieces_give_back(struct pieces *r, __u32 at, __u32 words);
bool pieces_has_waiting(const struct pieces *r);
/* What was given back is free from now on. */
void pieces_settle(struct pieces *r);

#endif /* KRAIT_UNWIND_PIECES_H */
