/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_walker.h - the walker (user/python/walk/) over a fake interpreter.
 */
#ifndef KRAIT_TESTS_SUPPORT_WALKER_H
#define KRAIT_TESTS_SUPPORT_WALKER_H

#include <linux/types.h>

#include "support_fake_interpreter.h"
#include "python/walk/stack_walk.h"

/* Like stack_walk_*() on that image; aborts if anything after the result was overwritten. */
void host_walk(struct fake *f, __u64 tstate_addr, bool fingerprints, struct stack_walk_result *ret);
void host_search(struct fake *f, __u64 thread_ptr, struct stack_walk_result *ret);
bool host_still_valid(struct fake *f, __u64 thread_ptr, __u64 tstate_addr, __u64 interp_addr);
void host_sample(struct fake *f, __u64 thread_ptr, struct thread_slot *slot,
		 struct stack_walk_result *ret);

/* Fails unless the result is the whole stack of s, or its leaf side with that reason. */
void assert_walk(struct stack_walk_result *result, struct fake_stack *s, __u32 reason,
		 __u32 frame_cnt);

/* A thread of one interpreter, for tests of the walk; with the group's setup and teardown. */
struct walk_fixture {
	struct fake *fake;
	struct fake_stack stack;
	struct stack_walk_result result;
	__u64 tstate_addr;
};
int walk_fixture_new(void **state);
int walk_fixture_free(void **state);
/* Makes an idle thread of that version, dropping the old one. */
void walk_fixture_begin(struct walk_fixture *x, int version);
/* A module, two functions, a C callback with a generator in it: seven nodes. */
void usual_stack(struct walk_fixture *x);
void walk_now(struct walk_fixture *x);

/* Address of a member of the frame at that distance from the leaf. */
#define MEMBER(x, index, member)                                                                   \
	(fake_expected(&(x)->stack, index)->frame_addr + (x)->fake->offsets.frame.member)

#define for_each_version(v) for (int v = 0; v < FAKE_VERSION_CNT; v++)

/*
 * The most reads of a walk or an interrupt. Of each frame: the frame, its code object, and that one's
 * contents.
 */
#define WALK_MAX_READS (5 * KRAIT_MAX_FRAMES)
#define SEARCH_MAX_READS (2 + 2 * KRAIT_MAX_THREADS)
#define SAMPLE_MAX_READS (2 + 2 * SEARCH_MAX_READS + 1 + WALK_MAX_READS)

#endif /* KRAIT_TESTS_SUPPORT_WALKER_H */
