/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc.h - what /proc says about a process: which one it is, whose it is, what it is called.
 *
 * Everything about a process is read relative to one descriptor of its directory: when it has gone
 * and another process has its pid, reads return -ESRCH, never the other's data.
 *
 * stat, status and comm come from the kernel alone. Everything else (cmdline, maps, mem, exe, root)
 * can be made to wait for the process or its files, for ever: only a prober reads it (prober.h).
 */
#ifndef KRAIT_PROCESS_PROC_PROC_H
#define KRAIT_PROCESS_PROC_PROC_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Groups that are kept; the digest covers all. */
#define PROC_GROUPS_MAX 32

struct proc_stat {
	__u64 start_ticks; /* field 22, clock ticks since boot */
	__u64 start_code; /* field 26, mm->start_code; 0 or 1 if we may not see it */
	__u64 start_stack; /* field 28, mm->start_stack; 0 if we may not see it */
	char state; /* field 3 */
	pid_t parent; /* field 4 */
	bool kernel_thread;
};

/* A zombie, or not even that: it runs nothing any more. */
static inline bool proc_has_ended(const struct proc_stat *stat)
{
	return stat->state == 'Z' || stat->state == 'X';
}

/* CPU time used so far. */
struct proc_times {
	__u64 cpu_ticks; /* fields 14 and 15, over all its threads */
	__u64 start_ticks; /* since boot */
};

/* Whose it is, in ids of our own user namespace. */
struct proc_ids {
	uid_t uid, euid, fsuid;
	gid_t gid, egid, fsgid;
	__u64 caps; /* the effective ones */
	__u32 group_cnt; /* number of supplementary groups, of which groups has the first */
	gid_t groups[PROC_GROUPS_MAX];
	__u64 digest; /* of all ids and capabilities; never 0 */
};

/*
 * Returns an O_PATH descriptor of /proc/PID, -ESRCH or -errno. If the first thread has ended
 * (pthread_exit()) and others have not, there is nothing left in it: then of /proc/TID of one of
 * those, which has the same files; its stat, status and comm are that thread's.
 */
int proc_open(pid_t pid) __attribute__((warn_unused_result));
/* The same; *ret: the process's, with a state in which it has ended only if all threads have. */
int proc_open_stat(pid_t pid, struct proc_stat *ret) __attribute__((warn_unused_result, nonnull));
/* /proc/PID itself, for what the kernel alone says about the process. */
int proc_open_leader(pid_t pid) __attribute__((warn_unused_result));
/* The same, if the process that has the pid is the one that started then; else -ESRCH. */
int proc_open_started(pid_t pid, __u64 start_ticks) __attribute__((warn_unused_result));
/*
 * Reads a file in there, whole or its first size - 1 bytes, as a string. Returns the length, -ESRCH
 * or -errno.
 */
ssize_t proc_read(int dir, const char *name, char *buf, size_t size)
	__attribute__((warn_unused_result, nonnull));

/* Parses the text of a stat file; 0 or -EINVAL. */
int proc_times_parse(const char *text, size_t len, struct proc_times *ret)
	__attribute__((warn_unused_result, nonnull));

/* 0, -ESRCH, or -errno. */
int proc_stat_at(int dir, struct proc_stat *ret) __attribute__((warn_unused_result, nonnull));
int proc_ids_at(int dir, struct proc_ids *ret) __attribute__((warn_unused_result, nonnull));
/* Its supplementary groups as samples have them: struct task_ids. */
__u32 proc_groups(const struct proc_ids *ids) __attribute__((nonnull));
/* The name of the main thread as the kernel has it: any bytes, NUL-terminated. */
int proc_comm_at(int dir, char ret[static 16]) __attribute__((warn_unused_result, nonnull));
/* By pid: whichever process has it at that moment. */
int proc_stat_read(pid_t pid, struct proc_stat *ret) __attribute__((warn_unused_result, nonnull));
int proc_times_read(pid_t pid, struct proc_times *ret) __attribute__((warn_unused_result, nonnull));

/*
 * Who pays for what it uses: its effective user, but the real one if it runs with root's rights for
 * another user; in a user namespace, who made that (task_payer() in bpf/kernel_task.h). Root if it has gone.
 * By pid, as above.
 */
uid_t proc_owner(pid_t pid);
/* The same for a process of which the real user is known. */
uid_t proc_payer_at(int dir, uid_t uid);

/*
 * Is it the machine's first process, which is never Python? That of a container may be anything.
 */
bool proc_is_init(pid_t pid);

/*
 * Would the kernel let the process's own user trace it? False after a set-id exec, and for
 * processes that asked for it (PR_SET_DUMPABLE). Processes of root always look traceable.
 */
bool proc_is_dumpable(int dir, uid_t euid);

/*
 * Is it in our mount namespace, and do paths mean the same to it as to us (no chroot)? False if
 * that is unknown. Waits for no file system.
 */
bool proc_shares_mounts(int dir) __attribute__((warn_unused_result));
bool proc_has_our_root(int dir) __attribute__((warn_unused_result));
/* Is it in our user namespace? False if that is unknown. */
bool proc_shares_users(int dir) __attribute__((warn_unused_result));
/* Is it a root that reads every file: with its rights over files, in our user namespace? */
bool proc_reads_all(int dir, const struct proc_ids *ids) __attribute__((nonnull));

/* Parses len bytes of such a file. Returns 0 or -EINVAL. */
int proc_stat_parse(const char *text, size_t len, struct proc_stat *ret)
	__attribute__((warn_unused_result, nonnull));
/* The rest of the first line that begins with key; NULL: there is none. */
const char *proc_line_of(const char *text, const char *key) __attribute__((nonnull(2)));
/* The last number of the line NSpid: in the content of status, the innermost one; 0: none. */
pid_t proc_ns_pid(const char *status) __attribute__((nonnull));

/* Start time of a process in clock ticks since boot (stat field 22, parsed from the last ')'). */
int process_start_ticks(pid_t pid, __u64 *ret) __attribute__((warn_unused_result, nonnull));

/*
 * The name of the main thread as the kernel has it: any bytes, NUL-terminated. Returns 0, -ESRCH,
 * -errno.
 */
int process_comm(pid_t pid, char ret[16]) __attribute__((warn_unused_result, nonnull));

/*
 * Calls fn for every process in /proc, in the order of pids. A nonzero result of fn ends it and is
 * returned; -errno if /proc cannot be listed.
 */
int process_each(int (*fn)(pid_t pid, void *ctx), void *ctx) __attribute__((nonnull(1)));

#endif /* KRAIT_PROCESS_PROC_PROC_H */
