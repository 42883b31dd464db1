/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_interps.h - the interpreters of a process, and who has the GIL of each, in a prober.
 */
#ifndef KRAIT_TARGET_PROBE_INTERPS_H
#define KRAIT_TARGET_PROBE_INTERPS_H

#include "target/probe_threads.h"
#include "walk/stack_walk.h"
#include "walk/thread_list.h"

/* Of those thread states; at most PROBE_THREADS_INTERPS_MAX. How many. */
__u32 probe_interps_list(const struct stack_walk *walk, const struct thread_list_entry *states,
			 __u32 state_cnt, struct probe_interp *ret) __attribute__((nonnull));

#endif /* KRAIT_TARGET_PROBE_INTERPS_H */
