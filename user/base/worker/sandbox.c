/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/worker/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/worker/rights.h"

/* For user namespaces with few ids: unused by Debian, Fedora and systemd. */
#define LOW_ID_FIRST 65520U
#define LOW_ID_CNT 14U

/* Landlock's first version, which every kernel with Landlock supports: 13 rights. */
#define LANDLOCK_ALL ((1ULL << 13) - 1)

int sandbox_room(void)
{
	static const char *const places[] = { "/run", "/tmp", "/dev/shm", "/var/tmp" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "%s/krait-XXXXXX", places[i]);
		if (!mkdtemp(path))
			continue;
		fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		rmdir(path);
		if (fd >= 0)
			return fd;
	}
	return -1;
}

static void limit(const struct sandbox_limits *l)
{
	const struct rlimit none = { 0, 0 }, seconds = { l->cpu_seconds, l->cpu_seconds };
	const struct rlimit file = { l->file, l->file }, threads = { 8, 8 };
	const struct rlimit fds = { l->fds, l->fds }, bytes = { l->memory, l->memory };

	setrlimit(RLIMIT_CPU, &seconds);
	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_FSIZE, &file);
	setrlimit(RLIMIT_NPROC, l->file ? &threads : &none);
	setrlimit(RLIMIT_MEMLOCK, &none);
	setrlimit(RLIMIT_NOFILE, &fds);
#ifndef __SANITIZE_ADDRESS__ /* ASan's shadow takes 20 TiB of addresses */
	setrlimit(RLIMIT_AS, &bytes);
#else
	(void)bytes;
#endif
}

/* ---- who, and where ---------------------------------------------------------------------------- */

static int become(unsigned id)
{
	if (setresgid(id, id, id) || setresuid(id, id, id))
		return -errno;
	return 0;
}

static int own_user(void)
{
	unsigned pid = (unsigned)getpid();

	if (setgroups(0, NULL))
		return -errno;
	if (!become(SANDBOX_ID_FIRST + pid))
		return 0;
	return become(LOW_ID_FIRST + pid % LOW_ID_CNT);
}

static bool has_rights(__u64 wanted)
{
	return (rights_effective() & wanted) == wanted;
}

/* Changes to the empty root if allowed. The system call filter forbids files anyway. */
static void move_into(int room)
{
	if (room < 0 || fchdir(room) || chroot(".") || chdir("/"))
		return;
}

static int leave_everything(int room)
{
	int err;

	if (!has_rights(RIGHTS_BIT(CAP_SYS_CHROOT)) && !has_rights(RIGHTS_BIT(CAP_SETUID)))
		(void)unshare(CLONE_NEWUSER);
	move_into(room);
	if (has_rights(RIGHTS_BIT(CAP_SETUID) | RIGHTS_BIT(CAP_SETGID)) && !geteuid()) {
		err = own_user();
		if (err)
			return err;
	}
	return rights_keep(0);
}

/* ---- what it may do ---------------------------------------------------------------------------- */

static int landlock_rule(int ruleset, const char *path)
{
	cleanup_close int fd = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = { .parent_fd = fd };

	if (fd < 0)
		return 0; /* a missing path cannot be read either */
	rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0)) {
		rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE; /* it is not a folder */
		if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0))
			return -errno;
	}
	return 0;
}

static int only_read(const char *const *paths, unsigned cnt)
{
	const struct landlock_ruleset_attr all = { .handled_access_fs = LANDLOCK_ALL };
	cleanup_close int ruleset = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);

	if (ruleset < 0)
		return -errno;
	for (unsigned i = 0; i < cnt; i++) {
		int err = landlock_rule(ruleset, paths[i]);

		if (err)
			return err;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_landlock_restrict_self, ruleset, 0))
		return -errno;
	return 0;
}

/* Allows memory without code, descriptors from the channel, the clock, and exit. */
static int add_rules(scmp_filter_ctx filter)
{
	static const int calls[] = {
		SCMP_SYS(read),
		SCMP_SYS(pread64),
		SCMP_SYS(lseek),
		SCMP_SYS(fstat),
		SCMP_SYS(close),
		SCMP_SYS(munmap),
		SCMP_SYS(mremap),
		SCMP_SYS(brk),
		SCMP_SYS(madvise),
		SCMP_SYS(recvmsg),
		SCMP_SYS(sendmsg),
		SCMP_SYS(poll),
		SCMP_SYS(ppoll),
		SCMP_SYS(futex),
		SCMP_SYS(clock_gettime),
		SCMP_SYS(getrandom),
		SCMP_SYS(rt_sigreturn),
		SCMP_SYS(rt_sigprocmask),
		SCMP_SYS(exit),
		SCMP_SYS(exit_group),
		SCMP_SYS(restart_syscall),
		SCMP_SYS(sched_yield),
		SCMP_SYS(getpid),
		SCMP_SYS(gettid),
#ifdef __SANITIZE_ADDRESS__ /* for its reports, and the stack that they examine */
		SCMP_SYS(write),
		SCMP_SYS(sigaltstack),
		SCMP_SYS(prlimit64),
		SCMP_SYS(sched_getaffinity),
#endif
	};
	static const int commands[] = { F_DUPFD_CLOEXEC, F_GETFD, F_GETFL };
	int err = 0;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && !err; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				       SCMP_A2_32(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
				       SCMP_A2_32(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]) && !err; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
				       SCMP_A1_32(SCMP_CMP_EQ, (unsigned)commands[i]));
	/*
	 * A worker that used up its time at our priority must be able to lower it
	 * (base/system/priority.c).
	 */
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(sched_setscheduler), 1,
				       SCMP_A1_32(SCMP_CMP_EQ, SCHED_OTHER));
	/* The C library's fstat(): of the descriptor itself. */
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1,
				       SCMP_A3_32(SCMP_CMP_EQ, AT_EMPTY_PATH));
	return err;
}

/* Likewise, plus accepting connections on sockets that already listen. */
static int add_server_rules(scmp_filter_ctx filter)
{
	static const int calls[] = {
		SCMP_SYS(accept4),     SCMP_SYS(accept),      SCMP_SYS(epoll_wait),
		SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_ctl),   SCMP_SYS(recvfrom),
		SCMP_SYS(sendto),      SCMP_SYS(write),	      SCMP_SYS(writev),
		SCMP_SYS(shutdown),    SCMP_SYS(setsockopt),  SCMP_SYS(getsockopt),
		SCMP_SYS(getpeername), SCMP_SYS(getsockname), SCMP_SYS(getrusage),
	};
	int err = add_rules(filter);

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && !err; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
				       SCMP_A1_32(SCMP_CMP_EQ, F_SETFL));
	return err;
}

static int load(scmp_filter_ctx filter, int (*add)(scmp_filter_ctx filter))
{
	int err = filter ? add(filter) : -ENOMEM;

	if (!err)
		err = seccomp_load(filter); /* sets no_new_privs */
	seccomp_release(filter);
	return err;
}

/* Forbids calls that affect other processes or the machine, or that would let others in. */
static int forbid_rules(scmp_filter_ctx filter)
{
	static const int calls[] = {
		SCMP_SYS(execve),
		SCMP_SYS(execveat),
		SCMP_SYS(fork),
		SCMP_SYS(vfork),
		SCMP_SYS(ptrace),
		SCMP_SYS(process_vm_readv),
		SCMP_SYS(process_vm_writev),
		SCMP_SYS(kill),
		SCMP_SYS(tkill),
		SCMP_SYS(pidfd_open),
		SCMP_SYS(pidfd_send_signal),
		SCMP_SYS(mount),
		SCMP_SYS(umount2),
		SCMP_SYS(pivot_root),
		SCMP_SYS(chroot),
		SCMP_SYS(setns),
		SCMP_SYS(unshare),
		SCMP_SYS(bpf),
		SCMP_SYS(perf_event_open),
		SCMP_SYS(keyctl),
		SCMP_SYS(add_key),
		SCMP_SYS(request_key),
		SCMP_SYS(userfaultfd),
		SCMP_SYS(io_uring_setup),
		SCMP_SYS(open_by_handle_at),
		SCMP_SYS(init_module),
		SCMP_SYS(finit_module),
		SCMP_SYS(listen),
		SCMP_SYS(accept),
		SCMP_SYS(accept4),
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && !err; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), calls[i], 0);
	/* Allows threads but no processes. The C library falls back to clone() without clone3(). */
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
				       SCMP_A0_64(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	return err;
}

/* Changing credentials resets both settings. If the parent ended before, getppid() tells. */
static int seclude(pid_t parent)
{
	if (prctl(PR_SET_DUMPABLE, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL))
		return -errno;
	return getppid() == parent ? 0 : -ESRCH;
}

static int enter(int room, const struct sandbox_limits *limits, int (*add)(scmp_filter_ctx filter))
{
	pid_t parent = getppid();
	int err;

	limit(limits);
	err = leave_everything(room);
	if (!err)
		err = seclude(parent);
	if (err)
		return err;
	(void)only_read(NULL, 0); /* from Linux 5.13 on */
	return load(seccomp_init(SCMP_ACT_ERRNO(EPERM)), add);
}

/* Likewise, plus sockets: even another process's socket of this machine would be a way out. */
static int forbid_reader_rules(scmp_filter_ctx filter)
{
	int err = forbid_rules(filter);

	return err ? err : seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 0);
}

int sandbox_enter_reader(void)
{
	const struct rlimit none = { 0, 0 };
	pid_t parent = getppid();
	int err = 0;

	setrlimit(RLIMIT_CORE, &none);
	/* In a user namespace there may be no other id; its root has no rights outside anyway. */
	if (has_rights(RIGHTS_BIT(CAP_SETUID) | RIGHTS_BIT(CAP_SETGID)) && !geteuid())
		(void)own_user();
	err = rights_keep(0);
	if (!err)
		err = seclude(parent);
	return err ? err : load(seccomp_init(SCMP_ACT_ALLOW), forbid_reader_rules);
}

int sandbox_enter(int room, const struct sandbox_limits *limits)
{
	return enter(room, limits, add_rules);
}

int sandbox_enter_server(int room, const struct sandbox_limits *limits)
{
	return enter(room, limits, add_server_rules);
}

int sandbox_enter_network(const struct sandbox_limits *limits, const char *const *readable,
			  unsigned cnt)
{
	pid_t parent = getppid();
	int err = 0;

	limit(limits);
	if (has_rights(RIGHTS_BIT(CAP_SETUID) | RIGHTS_BIT(CAP_SETGID)) && !geteuid())
		err = own_user();
	if (!err)
		err = rights_keep(0);
	if (!err)
		err = seclude(parent);
	if (err)
		return err;
	(void)only_read(readable, cnt);
	return load(seccomp_init(SCMP_ACT_ALLOW), forbid_rules);
}
