/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interrupts.h - the stacks of threads that run right now, each walked by the kernel in an interrupt of its
 * own: a recording of some milliseconds, of which the first sample of each thread counts.
 *
 * Native frames need what a recording makes of the process's files; then waiting threads are taken by it, too.
 */
#ifndef KRAIT_LOOK_INTERRUPTS_H
#define KRAIT_LOOK_INTERRUPTS_H

#include <linux/types.h>
#include <stddef.h>

#include "look/look.h"
#include "util/error.h"

struct prober;

/*
 * For at most duration_ns of sampling, or until no thread of them lacks a stack. 0, or -1 with *err filled:
 * the kernel cannot do it, or denies it. prober: borrowed, one that is ready.
 */
int look_interrupts(struct look_process *const *processes, size_t cnt, struct prober *prober,
		    __u64 duration_ns, struct error *err)
	__attribute__((warn_unused_result, nonnull));
/* The same of all threads, with their native frames, until none lacks them. */
int look_natives(struct look_process *const *processes, size_t cnt, struct prober *prober,
		 __u64 duration_ns, struct error *err) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_LOOK_INTERRUPTS_H */
