/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look_stack.h - names the stack of one thread that a prober has found in its list of threads.
 */
#ifndef KRAIT_LOOK_DUMP_LOOK_STACK_H
#define KRAIT_LOOK_DUMP_LOOK_STACK_H

#include <linux/types.h>
#include <stdbool.h>

struct code_symbol;
struct frame;
struct look_join;
struct look_thread;
struct probe_threads;
struct symbolizer;

/*
 * Takes the frames of t, whose os says where they are in the list, with the native ones from j.
 * *next_local: earlier variables belong to earlier threads; both are in the same order. Without a
 * stack, t->why has the reason. Returns 0 or -ENOMEM.
 */
int look_stack_take(struct look_thread *t, struct symbolizer *symbolizer,
		    const struct probe_threads *l, const struct look_join *j, __u32 *next_local)
	__attribute__((warn_unused_result, nonnull));

/* The function and line (-1: unknown) of a Python frame. False: its code cannot be read. */
bool look_stack_place(struct symbolizer *symbolizer, const struct frame *f, struct code_symbol *ret,
		      int *ret_line) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_LOOK_DUMP_LOOK_STACK_H */
