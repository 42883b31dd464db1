/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc_thread.h - what /proc says of one thread, into its struct probe_thread: dir is of /proc/PID, t->tid says
 * which.
 *
 * Only files that come from the kernel alone are read: none waits for the process.
 */
#ifndef KRAIT_TARGET_PROC_THREAD_H
#define KRAIT_TARGET_PROC_THREAD_H

#include <stdbool.h>

#include "target/probe_threads.h"

/* ns_tid, where the process is in a pid namespace of its own. */
void proc_thread_ns_tid(int dir, struct probe_thread *t) __attribute__((nonnull));
/* comm and state. 0, -ESRCH or -errno. */
int proc_thread_stat(int dir, struct probe_thread *t) __attribute__((warn_unused_result, nonnull));
/* cpu_ns, delay_ns and runs; 0 unknown. */
void proc_thread_times(int dir, struct probe_thread *t) __attribute__((nonnull));
/* The call that it waits in. False: it runs, or that cannot be told. */
bool proc_thread_syscall(int dir, struct probe_thread *t)
	__attribute__((warn_unused_result, nonnull));
/*
 * file_mode: what kind of file the descriptor args[0] refers to, if it is one. Judged by the link's text: opening the
 * file itself could block on its server.
 */
void proc_thread_file(int dir, struct probe_thread *t) __attribute__((nonnull));

#endif /* KRAIT_TARGET_PROC_THREAD_H */
