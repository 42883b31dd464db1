/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_copies.h - registers and C stacks of threads that stand still (frozen.h), copied: whoever has them can walk
 * along the native frames when the threads have long gone on.
 *
 * Must hold: STACK_COPY_MAX bytes a thread, STACK_COPIES_MAX of all; a stack that is longer is cut at its root.
 */
#ifndef KRAIT_TARGET_STACK_COPIES_H
#define KRAIT_TARGET_STACK_COPIES_H

#include <linux/types.h>

#include "target/probe_threads.h"
#include "util/bytes.h"

#define STACK_COPY_MAX (1U << 20)
#define STACK_COPIES_MAX PROBE_THREADS_STACKS_MAX

struct frozen_thread;

/* Of a thread that stands still: its registers, and behind all the others its stack; mem: of its memory. */
void stack_copies_take(struct bytes *copies, int mem, const struct frozen_thread *f,
		       struct probe_thread *t) __attribute__((nonnull));

#endif /* KRAIT_TARGET_STACK_COPIES_H */
