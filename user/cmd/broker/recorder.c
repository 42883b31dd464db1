/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/broker/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/system/privileges.h"
#include "base/worker/channel.h"
#include "base/worker/rights.h"

/* Captures are large, and /tmp may be in memory. It is the client's: its quota, its to remove. */
#define FOLDER "/var/tmp/krait-"
#define FILE_BYTES_MAX (1ULL << 30)
/* The recorder writes a byte there when it samples. */
#define BEGAN_FD 3

/* For map_files, BPF, perf events; where kernel.perf_event_paranoid is 3, those need more. */
static __u64 handed_down(void)
{
	__u64 set = RIGHTS_BIT(CAP_CHECKPOINT_RESTORE) | RIGHTS_BIT(CAP_BPF) |
		    RIGHTS_BIT(CAP_PERFMON);

	return privileges_events_need_admin() ? set | RIGHTS_BIT(CAP_SYS_ADMIN) : set;
}

/* SETPCAP for the bounding set, SYS_PTRACE to see the namespaces of a peer. */
__u64 recorder_capabilities(void)
{
	return handed_down() | RIGHTS_BIT(CAP_SETUID) | RIGHTS_BIT(CAP_SETGID) |
	       RIGHTS_BIT(CAP_SETPCAP) | RIGHTS_BIT(CAP_KILL) | RIGHTS_BIT(CAP_SYS_PTRACE);
}

/* ---- in the child ----------------------------------------------------------------------------- */

/* Permitted, effective, inheritable and ambient: what the set says. */
static int hold(__u64 set)
{
	cap_t caps = cap_init();
	int err = caps ? 0 : -ENOMEM;

	for (cap_value_t cap = 0; cap < cap_max_bits() && !err; cap++) {
		if (!(set & RIGHTS_BIT(cap)))
			continue;
		if (cap_set_flag(caps, CAP_PERMITTED, 1, &cap, CAP_SET) ||
		    cap_set_flag(caps, CAP_EFFECTIVE, 1, &cap, CAP_SET) ||
		    cap_set_flag(caps, CAP_INHERITABLE, 1, &cap, CAP_SET))
			err = -errno;
	}
	if (!err && cap_set_proc(caps))
		err = -errno;
	cap_free(caps);
	for (cap_value_t cap = 0; cap < cap_max_bits() && !err; cap++) {
		if (set & RIGHTS_BIT(cap) && cap_set_ambient(cap, CAP_SET))
			err = -errno;
	}
	return err;
}

/* For good: the peer's ids, and no capabilities but these. */
static int become(const struct peer *p, __u64 set)
{
	uid_t uids[3];
	gid_t gids[3];

	for (cap_value_t cap = 0; cap < cap_max_bits(); cap++) {
		if (!(set & RIGHTS_BIT(cap)) && cap_drop_bound(cap))
			return -errno;
	}
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setgroups(p->group_cnt, p->groups) ||
	    setresgid(p->gid, p->gid, p->gid) || setresuid(p->uid, p->uid, p->uid))
		return -errno;
	if (getresuid(&uids[0], &uids[1], &uids[2]) || getresgid(&gids[0], &gids[1], &gids[2]))
		return -errno;
	for (int i = 0; i < 3; i++) {
		if (uids[i] != p->uid || gids[i] != p->gid)
			return -EPERM;
	}
	if (prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return hold(set);
}

static int set_limits(void)
{
	const struct rlimit none = { 0, 0 }, all = { RLIM_INFINITY, RLIM_INFINITY };
	const struct rlimit file = { FILE_BYTES_MAX, FILE_BYTES_MAX };

	/* Kernels before 5.11 charge BPF maps against the second. */
	(void)setrlimit(RLIMIT_MEMLOCK, &all);
	return setrlimit(RLIMIT_CORE, &none) || setrlimit(RLIMIT_FSIZE, &file) ? -errno : 0;
}

/* Makes the folder and goes there; the client gets it. */
static int enter_folder(const char *path, int client_fd)
{
	const struct broker_answer answer = { .version = BROKER_VERSION, .kind = BROKER_FOLDER };
	int dir;

	umask(077);
	if (mkdir(path, 0700))
		return -errno;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || fchdir(dir))
		return -errno;
	return channel_send(client_fd, &answer, sizeof(answer), &dir, 1);
}

static int set_descriptors(int began_fd)
{
	int null = open("/dev/null", O_RDWR), messages;

	messages = open(BROKER_MESSAGES, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (null < 0 || messages < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
	    dup2(messages, 2) < 0 || dup2(began_fd, BEGAN_FD) < 0)
		return -errno;
	return close_range(BEGAN_FD + 1, ~0U, 0) ? -errno : 0;
}

/* krait's arguments: fixed words and numbers. */
struct line {
	char *argv[40];
	int cnt;
	char rate[16], duration[32], pids[BROKER_PIDS_MAX * 12];
};

static void add(struct line *l, const char *word)
{
	l->argv[l->cnt++] = (char *)word;
}

static void make_line(struct line *l, const struct broker_request *r)
{
	static const struct {
		enum broker_flag flag;
		const char *word;
	} flags[] = {
		{ BROKER_NO_NATIVE, "--no-native" },
		{ BROKER_INTERPRETER, "--interpreter-frames" },
		{ BROKER_OPCODES, "--opcodes" },
		{ BROKER_NO_ASYNC, "--no-async" },
		{ BROKER_ASYNC_BOTH, "--async=both" },
		{ BROKER_TASK_NAMES, "--task-names" },
		{ BROKER_NO_GREENLETS, "--no-greenlets" },
		{ BROKER_JITTER, "--jitter" },
		{ BROKER_INLINE, "--inline" },
		{ BROKER_BECOMING, "--becoming" },
	};
	size_t len = 0;

	for (__u32 i = 0; i < r->pid_cnt; i++)
		len += (size_t)snprintf(l->pids + len, sizeof(l->pids) - len, "%s%d", i ? "," : "",
					r->pids[i]);
	snprintf(l->rate, sizeof(l->rate), "%u", r->rate);
	snprintf(l->duration, sizeof(l->duration), "%llums", r->duration_ms);
	add(l, "krait");
	add(l, "record");
	add(l, "--own=3");
	add(l, "--no-kernel");
	add(l, "--no-realtime");
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (r->flags & flags[i].flag)
			add(l, flags[i].word);
	}
	add(l, "-F");
	add(l, l->rate);
	add(l, "-d");
	add(l, l->duration);
	add(l, "-p");
	add(l, l->pids);
	add(l, "-o");
	add(l, BROKER_CAPTURE);
}

static _Noreturn void be_recorder(const struct recorder *r, const struct peer *peer,
				  const struct broker_request *request, int client_fd, int began_fd,
				  pid_t broker)
{
	/* No home, where defaults and caches would be the client's, and none of its defaults. */
	char *env[] = { (char *)"HOME=/nonexistent",
			(char *)"KRAIT_CONFIG=", (char *)"PATH=/usr/bin:/bin",
			(char *)"LANG=C.UTF-8", NULL };
	struct line line = { 0 };
	sigset_t none;

	sigemptyset(&none);
	make_line(&line, request);
	if (setsid() < 0 || set_limits() || become(peer, handed_down()))
		_exit(126);
	/* Only now: a change of ids forgets it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || getppid() != broker)
		_exit(126);
	if (enter_folder(r->folder, client_fd) || set_descriptors(began_fd) ||
	    sigprocmask(SIG_SETMASK, &none, NULL))
		_exit(126);
	execve("/proc/self/exe", line.argv, env);
	_exit(126);
}

/* ---- in the broker ---------------------------------------------------------------------------- */

static int name_folder(struct recorder *r)
{
	__u64 number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	snprintf(r->folder, sizeof(r->folder), FOLDER "%016llx", number);
	return 0;
}

int recorder_start(struct recorder *ret, const struct peer *peer,
		   const struct broker_request *request, int client_fd)
{
	cleanup_close int began = -1;
	pid_t broker = getpid();
	int fds[2], err;

	*ret = (struct recorder){ .pidfd = -1, .began_fd = -1 };
	err = name_folder(ret);
	if (err)
		return err;
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	ret->began_fd = fds[0];
	/* Above the number that the child gives it. */
	began = fcntl(fds[1], F_DUPFD_CLOEXEC, BEGAN_FD + 1);
	close(fds[1]);
	ret->pid = began < 0 ? -1 : fork();
	if (!ret->pid)
		be_recorder(ret, peer, request, client_fd, began, broker);
	if (ret->pid < 0) {
		err = -errno;
		ret->pid = 0;
		recorder_free(ret);
		return err;
	}
	ret->pidfd = (int)syscall(SYS_pidfd_open, ret->pid, 0);
	return 0;
}

int recorder_ended(struct recorder *r, int *ret_code)
{
	int status;

	if (waitpid(r->pid, &status, WNOHANG) != r->pid)
		return 0;
	*ret_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	r->pid = 0;
	recorder_free(r);
	return 1;
}

/* It is our child, and not reaped: the pid is its. */
void recorder_signal(const struct recorder *r, int signal)
{
	if (r->pid)
		kill(r->pid, signal);
}

/* What record makes; with the client's rights, so links that the client puts there lead nowhere else. */
static void remove_all(const char *path)
{
	char *const argv[] = { (char *)"rm", (char *)"-rf", (char *)"--one-file-system",
			       (char *)"--", (char *)path,  NULL };
	char *const env[] = { NULL };

	execve("/bin/rm", argv, env);
}

int recorder_clean(struct recorder *r, const struct peer *peer)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		if (become(peer, 0) || close_range(0, ~0U, 0))
			_exit(1);
		remove_all(r->folder);
		_exit(1);
	}
	r->pid = pid;
	r->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return 0;
}

void recorder_free(struct recorder *r)
{
	cleanup_close_(&r->pidfd);
	cleanup_close_(&r->began_fd);
	r->pidfd = r->began_fd = -1;
}
