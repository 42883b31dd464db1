/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_fake_random.h - random interpreters with a known true stack, and random damage to them.
 */
#ifndef KRAIT_TESTS_SUPPORT_FAKE_RANDOM_H
#define KRAIT_TESTS_SUPPORT_FAKE_RANDOM_H

#include "support_fake_interpreter.h"

struct rng {
	__u64 state;
};

/* Uses KRAIT_SEED, or else a fixed seed; prints it as a TAP comment, so that a run can be repeated. */
struct rng rng_from_environment(void);
__u64 rng_next(struct rng *rng);
/* 0 <= result < limit */
__u32 rng_below(struct rng *rng, __u32 limit);

/*
 * Fills an empty image with interpreters and threads with stacks, some of them states of the thread
 * self. *ret_mine gets the true stack; ret_mine->tstate_addr is 0 if self has no state.
 */
void fake_random(struct fake *f, struct rng *rng, __u64 self, struct fake_stack *ret_mine);

/*
 * Overwrites cnt words with addresses in the image (aligned or not), unreadable addresses, small
 * numbers, or other words of the image.
 */
void fake_mutate(struct fake *f, struct rng *rng, __u32 cnt);

#endif /* KRAIT_TESTS_SUPPORT_FAKE_RANDOM_H */
