/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_copies.h - copies the registers and C stacks of threads that stand still (frozen.h): with
 * these, the native frames can be walked long after the threads have gone on.
 *
 * Must hold: at most STACK_COPY_MAX bytes per thread, STACK_COPIES_MAX in all; a longer stack is
 * cut at its root.
 */
#ifndef KRAIT_PROCESS_PROBE_STACK_COPIES_H
#define KRAIT_PROCESS_PROBE_STACK_COPIES_H

#include <linux/types.h>

#include "process/probe/probe_threads.h"
#include "base/data/bytes.h"

#define STACK_COPY_MAX (1U << 20)
#define STACK_COPIES_MAX PROBE_THREADS_STACKS_MAX

struct frozen_thread;

/* For a thread that stands still: takes its registers, and appends its stack; mem: its memory. */
void stack_copies_take(struct bytes *copies, int mem, const struct frozen_thread *f,
		       struct probe_thread *t) __attribute__((nonnull));

#endif /* KRAIT_PROCESS_PROBE_STACK_COPIES_H */
