/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_walker.h - the walker's headers, run on the host over a fake interpreter.
 *
 * The loops are those of sampler.bpf.c; tests/bpf proves that both say the same of the same memory.
 */
#ifndef KRAIT_TESTS_SUPPORT_WALKER_H
#define KRAIT_TESTS_SUPPORT_WALKER_H

#include <linux/types.h>

#include "support_fake_interpreter.h"

struct walk_result {
	__u32 reason; /* enum reason */
	__u32 frame_cnt;
	__u64 tstate_addr, interp_addr;
	struct frame frames[KRAIT_MAX_FRAMES];
	struct frame canary; /* host_walk() aborts when it was written */
};

/* Walks a thread state's frames as they are now. */
void host_walk(struct fake *f, __u64 tstate_addr, bool fingerprints, struct walk_result *ret);
/* Searches all lists once, without trying again. */
void host_search(struct fake *f, __u64 thread_ptr, struct walk_result *ret);
/* Is what was remembered still this thread's active state? */
bool host_still_valid(struct fake *f, __u64 thread_ptr, __u64 tstate_addr, __u64 interp_addr);
/* All of an interrupt. slot: what is remembered of the thread, or NULL. */
void host_sample(struct fake *f, __u64 thread_ptr, struct thread_slot *slot,
		 struct walk_result *ret);

/* Fails the test unless the result is the whole stack of s, or its leaf side with that reason. */
void assert_walk(struct walk_result *result, struct fake_stack *s, __u32 reason, __u32 frame_cnt);

/* A thread of one interpreter, for tests of the walk; the group's setup and teardown. */
struct walk_fixture {
	struct fake *fake;
	struct fake_stack stack;
	struct walk_result result;
	__u64 tstate_addr;
};
int walk_fixture_new(void **state);
int walk_fixture_free(void **state);
/* An idle thread of that version; what was there is gone. */
void walk_fixture_begin(struct walk_fixture *x, int version);
/* A module, two functions, a C callback with a generator in it: seven nodes. */
void usual_stack(struct walk_fixture *x);
void walk_now(struct walk_fixture *x);

/* Address of a member of the frame that is index frames away from the leaf. */
#define MEMBER(x, index, member)                                                                   \
	(fake_expected(&(x)->stack, index)->frame_addr + (x)->fake->offsets.frame.member)

#define for_each_version(v) for (int v = 0; v < FAKE_VERSION_CNT; v++)

/* Reads that a walk, and an interrupt, do at the most. */
#define WALK_MAX_READS (2 * KRAIT_MAX_FRAMES)
#define SEARCH_MAX_READS (2 + 2 * KRAIT_MAX_THREADS)
#define SAMPLE_MAX_READS (2 + 2 * SEARCH_MAX_READS + 1 + WALK_MAX_READS)

#endif /* KRAIT_TESTS_SUPPORT_WALKER_H */
