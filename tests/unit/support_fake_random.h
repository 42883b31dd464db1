/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_fake_random.h - random interpreters whose truth is known, and random damage to them.
 */
#ifndef KRAIT_TESTS_SUPPORT_FAKE_RANDOM_H
#define KRAIT_TESTS_SUPPORT_FAKE_RANDOM_H

#include "support_fake_interpreter.h"

struct rng {
	__u64 state;
};

/* From KRAIT_SEED, or always the same; printed as a TAP comment, for running it again. */
struct rng rng_from_environment(void);
__u64 rng_next(struct rng *rng);
/* 0 <= result < limit */
__u32 rng_below(struct rng *rng, __u32 limit);

/*
 * Fills an empty image: interpreters, threads, some of them states of the thread self, with stacks.
 * The truth is *ret_mine; ret_mine->tstate_addr is 0 when self has no state at all.
 */
void fake_random(struct fake *f, struct rng *rng, __u64 self, struct fake_stack *ret_mine);

/*
 * Overwrites cnt words: with addresses in the image, aligned or not, with ones that nobody can read,
 * with small numbers, with other words of the image.
 */
void fake_mutate(struct fake *f, struct rng *rng, __u32 cnt);

#endif /* KRAIT_TESTS_SUPPORT_FAKE_RANDOM_H */
