/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look_stack.h - the stack of one thread, named, of what a prober has found in its list of threads.
 */
#ifndef KRAIT_LOOK_LOOK_STACK_H
#define KRAIT_LOOK_LOOK_STACK_H

#include <linux/types.h>

struct look_thread;
struct probe_threads;
struct symbolizer;

/*
 * The frames of t, whose os says where they are in the list. *next_local: variables before it were of threads that came
 * before; both are in the same order. Without a stack, t->why says the reason. 0 or -ENOMEM.
 */
int look_stack_take(struct look_thread *t, struct symbolizer *symbolizer,
		    const struct probe_threads *l, __u32 *next_local)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_LOOK_LOOK_STACK_H */
