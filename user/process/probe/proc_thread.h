/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc_thread.h - what /proc says about one thread, into its struct probe_thread: dir is of
 * /proc/PID, t->tid identifies the thread.
 *
 * Reads only files that come from the kernel alone: none waits for the process.
 */
#ifndef KRAIT_PROCESS_PROBE_PROC_THREAD_H
#define KRAIT_PROCESS_PROBE_PROC_THREAD_H

#include <stdbool.h>

#include "process/probe/probe_threads.h"

/* Fills ns_tid, if the process is in its own pid namespace. */
void proc_thread_ns_tid(int dir, struct probe_thread *t) __attribute__((nonnull));
/* Fills comm and state. Returns 0, -ESRCH or -errno. */
int proc_thread_stat(int dir, struct probe_thread *t) __attribute__((warn_unused_result, nonnull));
/* Fills cpu_ns, delay_ns and runs; 0 unknown. */
void proc_thread_times(int dir, struct probe_thread *t) __attribute__((nonnull));
/* Fills the system call that it waits in. False: it is running, or that is unknown. */
bool proc_thread_syscall(int dir, struct probe_thread *t)
	__attribute__((warn_unused_result, nonnull));
/* Is it frozen, with its control group or with the machine? Sets or clears PROBE_THREAD_FROZEN. */
void proc_thread_frozen(int dir, struct probe_thread *t) __attribute__((nonnull));
/*
 * Fills file_mode: the kind of file behind descriptor args[0], if it is one. Judged by the link's
 * text: opening the file itself could block on its server.
 */
void proc_thread_file(int dir, struct probe_thread *t) __attribute__((nonnull));

#endif /* KRAIT_PROCESS_PROBE_PROC_THREAD_H */
