/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interrupts.h - the stacks of currently running threads, each walked by the kernel in its own
 * interrupt: a recording of some milliseconds, in which each thread's first sample counts.
 *
 * Native frames need what a recording makes of the process's files; so with them, waiting threads
 * are taken in this way, too.
 */
#ifndef KRAIT_LOOK_DUMP_INTERRUPTS_H
#define KRAIT_LOOK_DUMP_INTERRUPTS_H

#include <linux/types.h>
#include <stddef.h>

#include "look/dump/look.h"
#include "base/system/error.h"

struct prober;

/*
 * Samples for at most duration_ns, or until no thread lacks a stack. Returns 0, or -1 with *err
 * filled: the kernel cannot do it, or denies it. prober: borrowed, ready to use.
 */
int look_interrupts(struct look_process *const *processes, size_t cnt, struct prober *prober,
		    __u64 duration_ns, struct error *err)
	__attribute__((warn_unused_result, nonnull));
/* The same for all threads, with their native frames, until none lacks them. */
int look_natives(struct look_process *const *processes, size_t cnt, struct prober *prober,
		 __u64 duration_ns, struct error *err) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_LOOK_DUMP_INTERRUPTS_H */
