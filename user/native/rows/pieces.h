/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pieces.h - which words of the slabs (bpf/native/rows.h) are in use.
 *
 * Must hold: a returned piece is not reused before pieces_settle() says that no walk can still be
 * reading it. A piece lies in one slab and begins at a multiple of eight bytes.
 */
#ifndef KRAIT_NATIVE_ROWS_PIECES_H
#define KRAIT_NATIVE_ROWS_PIECES_H

#include <linux/types.h>
#include <stdbool.h>

struct piece {
	__u32 at, words;
};

/* All zeroes initially. */
struct pieces {
	struct piece *free; /* sorted by at */
	__u32 free_cnt, free_cap;
	struct piece *waiting; /* returned, but not settled */
	__u32 waiting_cnt, waiting_cap;
};

void pieces_free(struct pieces *r);
/* Adds the words of another slab. Returns 0 or -ENOMEM. */
int pieces_add_slab(struct pieces *r, __u32 number) __attribute__((warn_unused_result));
/* Returns a position, or 0: no such piece is free. */
__u32 pieces_take(struct pieces *r, __u32 words);
/* Position 0 is ignored. If there is no memory to record it, the piece is leaked. */
void pieces_give_back(struct pieces *r, __u32 at, __u32 words);
bool pieces_has_waiting(const struct pieces *r);
/* Everything returned so far is free from now on. */
void pieces_settle(struct pieces *r);

#endif /* KRAIT_NATIVE_ROWS_PIECES_H */
