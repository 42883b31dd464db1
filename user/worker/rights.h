/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rights.h - capabilities of this thread: which are kept, and which a worker gets.
 *
 * The mark of a right that was handed down is its bit in the inheritable set, which an exec leaves
 * alone and which nobody can set who does not have that right.
 *
 * Must hold: nothing here ever adds a right.
 */
#ifndef KRAIT_WORKER_RIGHTS_H
#define KRAIT_WORKER_RIGHTS_H

#include <linux/capability.h>
#include <linux/types.h>

/* Of a set: RIGHTS_BIT(CAP_SYS_PTRACE) | ... */
#define RIGHTS_BIT(cap) (1ULL << (cap))

/* What this thread may use now; 0 where that cannot be read. */
__u64 rights_effective(void);

/*
 * Keeps those of the set that the thread has, and drops all others for good: permitted, effective,
 * inheritable, ambient, and from the bounding set where that is allowed. 0 or -errno. Other threads keep
 * theirs.
 */
int rights_keep(__u64 set) __attribute__((warn_unused_result));
/* The same, and for_moments stay permitted, not effective: util/privileges.h borrows them. */
int rights_keep_and_permit(__u64 set, __u64 for_moments) __attribute__((warn_unused_result));

/*
 * Marks what the thread has as handed down, until rights_take_back() with the result. Where that fails,
 * nothing is handed down.
 */
__u64 rights_hand_down(void);
void rights_take_back(__u64 before);

/*
 * For a process that exec may have given more than its starter had (a file with capabilities): drops
 * what is not marked. 0 or -errno.
 */
int rights_only_handed_down(void) __attribute__((warn_unused_result));

#endif /* KRAIT_WORKER_RIGHTS_H */
