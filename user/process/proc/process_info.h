/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process_info.h - what a person wants to know about a process: whose it is, what it runs, where.
 *
 * Must hold: the process chooses these texts; they are truncated to fit and not made printable
 * here.
 */
#ifndef KRAIT_PROCESS_PROC_PROCESS_INFO_H
#define KRAIT_PROCESS_PROC_PROCESS_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "process/proc/cgroup.h"

struct process_info {
	pid_t pid, ns_pid; /* in our and in its innermost pid namespace; 0 unknown */
	uid_t uid;
	bool has_uid;
	char user[33]; /* from our user database, else the number; "": unknown */
	char command[512]; /* arguments separated by blanks, or [name] for a process without any */
	char container[CONTAINER_ID_MAX]; /* "": none; as in process/proc/cgroup.h */
};

/*
 * dir: /proc/PID (proc.h). Leaves out the user's name, and what cannot be read. Returns -ESRCH if the
 * process is gone.
 */
int process_info_read_at(int dir, pid_t pid, struct process_info *ret)
	__attribute__((warn_unused_result, nonnull));
/*
 * The same from what the kernel alone knows: without arguments, which the name replaces. Never
 * waits.
 */
int process_info_glance(pid_t pid, struct process_info *ret)
	__attribute__((warn_unused_result, nonnull));
/* Fills user. Asks the user database, which can take long. */
void process_info_name_user(struct process_info *info) __attribute__((nonnull));

#endif /* KRAIT_PROCESS_PROC_PROCESS_INFO_H */
