/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gil_facts.h - which interpreter lock of its process a sample is of, and which thread has it.
 *
 * A process has one for each interpreter that does not share another's. They are numbered as they are met, and
 * a thread is known by the thread state of its last sample.
 *
 * Must hold: both come from the target's memory and may be anything: memory and time are bounded, and what
 * is not known is 0.
 */
#ifndef KRAIT_SESSION_GIL_FACTS_H
#define KRAIT_SESSION_GIL_FACTS_H

#include <linux/types.h>
#include <sys/types.h>

/* Locks of one process that get numbers, and threads that are looked at for one. */
#define GIL_FACTS_LOCKS 256
#define GIL_FACTS_THREADS 4096

struct process;

/* From 1; 0: there is none at that address, or there are too many. */
__u32 gil_number(struct process *p, __u64 gil_addr);
/* The thread whose state that is; 0: nobody knows. */
pid_t gil_holder(const struct process *p, __u64 tstate_addr);

#endif /* KRAIT_SESSION_GIL_FACTS_H */
