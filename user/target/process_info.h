/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process_info.h - what a person wants to know of a process: whose it is, what it runs, where.
 *
 * Must hold: texts are the process's own choice, cut to fit and not made printable here.
 */
#ifndef KRAIT_TARGET_PROCESS_INFO_H
#define KRAIT_TARGET_PROCESS_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "target/cgroup.h"

struct process_info {
	pid_t pid, ns_pid; /* ours; in its innermost pid namespace, 0 unknown */
	uid_t uid;
	bool has_uid;
	char user[33]; /* by our user database, else the number; "" unknown */
	char command[512]; /* arguments with a blank between, or [name] of a process without any */
	char container[CONTAINER_ID_MAX]; /* "" none; as target/cgroup.h has it */
};

/* What cannot be read is left out. -ESRCH if the process is gone. */
int process_info_read(pid_t pid, struct process_info *ret)
	__attribute__((warn_unused_result, nonnull));
/* The same relative to /proc/PID (proc.h), without the user's name. */
int process_info_read_at(int dir, pid_t pid, struct process_info *ret)
	__attribute__((warn_unused_result, nonnull));
/* The same of what the kernel alone knows: not the arguments, the name stands for them. Never waits. */
int process_info_glance(pid_t pid, struct process_info *ret)
	__attribute__((warn_unused_result, nonnull));
/* Fills user. Asks the user database, which is not for those who have little time. */
void process_info_name_user(struct process_info *info) __attribute__((nonnull));

#endif /* KRAIT_TARGET_PROCESS_INFO_H */
