/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * core_threads.h - the threads of a core as a list, in the form that a prober makes for a process.
 */
#ifndef KRAIT_LOOK_CORE_CORE_THREADS_H
#define KRAIT_LOOK_CORE_CORE_THREADS_H

#include "look/core/core_file.h"
#include "process/probe/thread_stacks.h"

/* Lists threads by tid, from ask->first_tid on. */
void core_threads_fill(struct core_file *c, const struct probe_threads_ask *ask,
		       struct thread_stacks *s) __attribute__((nonnull));

#endif /* KRAIT_LOOK_CORE_CORE_THREADS_H */
