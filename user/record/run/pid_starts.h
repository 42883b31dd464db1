/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pid_starts.h - which process a pid of a profile stands for. While a recording runs the kernel may give the pid of an
 * ended process to another user's, and what was sampled of the one is not for the other to see.
 *
 * Must hold: a pid that more than one process has had stands for none. However many processes end, what is remembered
 * of them grows only with the number of different pids.
 */
#ifndef KRAIT_RECORD_RUN_PID_STARTS_H
#define KRAIT_RECORD_RUN_PID_STARTS_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

struct pid_start {
	pid_t pid;
	__u64 start_ns; /* boot clock; 0: several processes have had the pid, or nobody knows when it began */
};

/* Initially all 0. */
struct pid_starts {
	struct pid_start *list;
	unsigned cnt, cap;
	unsigned merged; /* so many are sorted, one of each pid; those behind them are not */
	bool incomplete; /* out of memory: nobody is known any more */
};

/* A process of the profile has ended, or has another image. */
void pid_starts_add(struct pid_starts *s, pid_t pid, __u64 start_ns) __attribute__((nonnull));
/*
 * now_ns: start of the process that has the pid now, 0: none. The start of the only process that has had it, 0: there
 * were several, or none is known.
 */
__u64 pid_starts_only(struct pid_starts *s, pid_t pid, __u64 now_ns) __attribute__((nonnull));
void pid_starts_free(struct pid_starts *s) __attribute__((nonnull));

#endif /* KRAIT_RECORD_RUN_PID_STARTS_H */
