/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rights.h - this thread's capabilities: which it keeps, and which a worker gets.
 *
 * A right that was handed down is marked in the inheritable set: exec leaves that set alone, and
 * nobody without the right can set the bit.
 *
 * Must hold: nothing here ever adds a right.
 */
#ifndef KRAIT_BASE_WORKER_RIGHTS_H
#define KRAIT_BASE_WORKER_RIGHTS_H

#include <linux/capability.h>
#include <linux/types.h>
#include <sys/types.h>

/* Builds a set: RIGHTS_BIT(CAP_SYS_PTRACE) | ... */
#define RIGHTS_BIT(cap) (1ULL << (cap))

/* Returns this thread's effective set; 0 if it cannot be read. */
__u64 rights_effective(void);

/*
 * Keeps the rights of the set that the thread has, and drops all others for good: permitted,
 * effective, inheritable, ambient, and from the bounding set if allowed. Other threads keep theirs.
 * Returns 0 or -errno.
 */
int rights_keep(__u64 set) __attribute__((warn_unused_result));
/* Likewise, but for_moments stay permitted though not effective: base/system/privileges.h borrows them. */
int rights_keep_and_permit(__u64 set, __u64 for_moments) __attribute__((warn_unused_result));

/* Whose a process is, and what it may. Crosses processes. */
#define RIGHTS_GROUPS_MAX 256
struct rights_ids {
	uid_t uid;
	gid_t gid;
	__u32 group_cnt; /* supplementary */
	gid_t groups[RIGHTS_GROUPS_MAX];
	__u64 set; /* rights: effective, and what it executes has them, too */
};

/*
 * Makes this process, which has one thread, that user's for good: all of its ids, and no rights but these. Returns 0 or
 * -errno: then it must end.
 */
int rights_become(const struct rights_ids *ids) __attribute__((warn_unused_result, nonnull));

/*
 * Marks the thread's rights as handed down, until rights_take_back() is called with the result. On
 * failure nothing is handed down.
 */
__u64 rights_hand_down(void);
void rights_take_back(__u64 before);

/*
 * For a process to which exec may have given more than its starter had (a file with capabilities):
 * drops unmarked rights. Returns 0 or -errno.
 */
int rights_only_handed_down(void) __attribute__((warn_unused_result));

#endif /* KRAIT_BASE_WORKER_RIGHTS_H */
