/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * procs.h - user space's side of the map procs: which processes the kernel side follows.
 *
 * Kernel and user space both enter and delete; whoever inserts an entry, or deletes it, notes that in the
 * books of its owner (bpf/share.h), and no owner gets more than its share.
 *
 * Must hold: an entry of a later process of the same pid is never replaced by an earlier one's.
 */
#ifndef KRAIT_SAMPLER_PROCS_H
#define KRAIT_SAMPLER_PROCS_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "abi.h"
#include "share.h"

struct procs {
	int fd; /* of the map */
	struct owner_books *books;
};

bool procs_find(const struct procs *p, pid_t pid, struct proc_info *ret);
/* -EDQUOT where there is no room for another process of its owner, -ESRCH when it has gone. */
int procs_enter(const struct procs *p, pid_t pid, const struct proc_info *info);
/* Unless the pid is another one's by now. */
void procs_delete(const struct procs *p, pid_t pid, __u64 start_ns);

#endif /* KRAIT_SAMPLER_PROCS_H */
