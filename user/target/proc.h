/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc.h - the few facts of /proc/PID/stat that tell one process from the next.
 */
#ifndef KRAIT_TARGET_PROC_H
#define KRAIT_TARGET_PROC_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct proc_stat {
	__u64 start_ticks; /* field 22, clock ticks since boot */
	__u64 start_code; /* field 26, mm->start_code; 0 or 1 where it may not be seen */
	char state; /* field 3 */
	pid_t parent; /* field 4 */
	bool kernel_thread;
};

/* 0, -ESRCH, or -errno. */
int proc_stat_read(pid_t pid, struct proc_stat *ret) __attribute__((warn_unused_result, nonnull));

/* Parses len bytes of such a file. 0 or -EINVAL. */
int proc_stat_parse(const char *text, size_t len, struct proc_stat *ret)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_TARGET_PROC_H */
