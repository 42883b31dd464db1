/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * whose.h - with whose rights the processes of a recording ran (profile/identities.h).
 *
 * The kernel says it with each sample: what a process is by the time that somebody asks may be
 * another thing, since it may have dropped its rights or executed a program that has more. What the
 * kernel does not say with the sample (all the groups; whether paths mean the same to the process
 * as to krait) is asked of /proc, and counts only as far as it agrees.
 *
 * Must hold: asks only the kernel and never blocks; grants nothing that is not proved.
 */
#ifndef KRAIT_RECORD_SAMPLES_WHOSE_H
#define KRAIT_RECORD_SAMPLES_WHOSE_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"

struct identities;
struct process;

static inline bool whose_same(const struct task_ids *a, const struct task_ids *b)
{
	return a->uid == b->uid && a->gid == b->gid && a->groups == b->groups;
}

/* A thread of it had these ids at a sample. They may be unknown. */
void whose_note(struct identities *set, const struct process *p, const struct task_ids *ids);
/*
 * For what krait reads of a process in which no thread has been interrupted: the ids that its last
 * sample had, if it still has them, else unknown ones.
 */
void whose_now(const struct process *p, struct task_ids *ret);

#endif /* KRAIT_RECORD_SAMPLES_WHOSE_H */
