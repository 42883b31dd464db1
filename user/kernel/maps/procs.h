/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * procs.h - user space's side of the map procs: which processes the kernel side follows.
 *
 * Both the kernel and user space insert and delete. Whoever does so notes it in the books of the
 * entry's owner (bpf/share.h), and no owner gets more than its share.
 *
 * Must hold: an earlier process's entry never replaces that of a later process with the same pid.
 */
#ifndef KRAIT_KERNEL_MAPS_PROCS_H
#define KRAIT_KERNEL_MAPS_PROCS_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "bpf/share.h"

struct procs {
	int fd; /* of the map */
	struct owner_books *books;
};

bool procs_find(const struct procs *p, pid_t pid, struct proc_info *ret);
/* -EDQUOT: no room for another process of its owner, -ESRCH: the process has gone. */
int procs_enter(const struct procs *p, pid_t pid, const struct proc_info *info);
/* Does nothing if another process has the pid by now. */
void procs_delete(const struct procs *p, pid_t pid, __u64 start_ns);

#endif /* KRAIT_KERNEL_MAPS_PROCS_H */
