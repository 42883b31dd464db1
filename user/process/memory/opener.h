/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * opener.h - memory of a user's own processes where YAMA keeps it from the user (kernel.yama.ptrace_scope 1:
 * only from ancestors). For krait broker alone, whose rule for that is: stacks of one's own processes may be seen.
 *
 * The opener is a process with the user's ids and one capability, CAP_SYS_PTRACE, which is not effective but
 * for one system call at a time. It parses nothing, and takes a descriptor of /proc/PID from a prober.
 *
 * Must hold: whatever the prober sends, it gets only what the kernel would give the user at ptrace_scope 0: before and
 * after the call with the capability the kernel lets this process, without it, open /proc/PID/maps, and those of the thread
 * (PTRACE_MODE_READ, of which YAMA says nothing: security/yama/yama_lsm.c); and the maps of before can still be read after
 * it: no other image was executed between, with other rights. Memory is for reading only. If the process has executed something
 * else between these calls, the memory of before has no user any more, and reads of it find nothing (fs/proc/base.c,
 * mem_rw()).
 */
#ifndef KRAIT_PROCESS_MEMORY_OPENER_H
#define KRAIT_PROCESS_MEMORY_OPENER_H

#include <stddef.h>
#include <sys/types.h>

/* Answers until the other end of the socket closes. Returns the exit code. */
int opener_serve(int fd);

/* In a prober. dir: /proc/PID. Returns a descriptor of its memory; -1 and errno (EACCES: also without an opener). */
int opener_memory(int dir) __attribute__((warn_unused_result));
/* Its task/TID/syscall. Returns the number of bytes in buf, or -errno. */
ssize_t opener_syscall(int dir, pid_t tid, char *buf, size_t size)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PROCESS_MEMORY_OPENER_H */
