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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/broker/spare.h"
#include "process/memory/opener.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/system/privileges.h"
#include "base/text/log.h"
#include "base/worker/channel.h"
#include "base/worker/own.h"
#include "base/worker/rights.h"
#include "base/worker/worker.h"

/* Captures are large, and /tmp may be in memory. It is the client's: its quota, its to remove. */
#define FOLDER "/var/tmp/krait-"

/* For map_files, BPF, perf events; where kernel.perf_event_paranoid is 3, those need more. */
static __u64 handed_down(bool all)
{
	__u64 set = RIGHTS_BIT(CAP_CHECKPOINT_RESTORE) | RIGHTS_BIT(CAP_BPF) |
		    RIGHTS_BIT(CAP_PERFMON);

	/* Memory of other users' processes, and what is mapped there. */
	if (all)
		set |= RIGHTS_BIT(CAP_SYS_PTRACE) | RIGHTS_BIT(CAP_DAC_READ_SEARCH);

	return privileges_events_need_admin() ? set | RIGHTS_BIT(CAP_SYS_ADMIN) : set;
}

/* SETPCAP for the bounding set, SYS_PTRACE to see the namespaces of a peer. */
__u64 recorder_capabilities(bool all)
{
	return handed_down(all) | RIGHTS_BIT(CAP_SETUID) | RIGHTS_BIT(CAP_SETGID) |
	       RIGHTS_BIT(CAP_SETPCAP) | RIGHTS_BIT(CAP_KILL) | RIGHTS_BIT(CAP_SYS_PTRACE);
}

/* ---- in the child ----------------------------------------------------------------------------- */

/* For good: the peer's ids, and no capabilities but these. */
static struct rights_ids ids_of(const struct peer *p, __u64 set)
{
	struct rights_ids ids = {
		.uid = p->uid, .gid = p->gid, .group_cnt = (__u32)p->group_cnt, .set = set
	};

	if (p->group_cnt && p->group_cnt <= RIGHTS_GROUPS_MAX)
		memcpy(ids.groups, p->groups, p->group_cnt * sizeof(*p->groups));
	return ids;
}

static int become(const struct peer *p, __u64 set)
{
	const struct rights_ids ids = ids_of(p, set);

	return rights_become(&ids);
}

static int set_limits(__u64 bytes)
{
	const struct rlimit none = { 0, 0 }, all = { RLIM_INFINITY, RLIM_INFINITY };
	const struct rlimit file = { bytes, bytes };

	/* Kernels before 5.11 charge BPF maps against the second. */
	(void)setrlimit(RLIMIT_MEMLOCK, &all);
	return setrlimit(RLIMIT_CORE, &none) || setrlimit(RLIMIT_FSIZE, &file) ? -errno : 0;
}

static int give(int client_fd, enum broker_kind kind, int fd)
{
	const struct broker_answer answer = { .version = BROKER_VERSION, .kind = kind };

	return channel_send(client_fd, &answer, sizeof(answer), &fd, 1);
}

/* Where memory is short, the kernel ends a recording before anything else. */
void recorder_give_way(void)
{
	cleanup_close int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	/* Not if it does already. */
	if (fd >= 0 && write(fd, "500", 3) < 0)
		log_debug("recorder", "oom_score_adj: %s", strerror(errno));
}

/* Makes the folder and goes there; the client gets it. */
static int enter_folder(const char *path, int client_fd)
{
	cleanup_close int dir = -1;

	umask(077);
	if (mkdir(path, 0700))
		return -errno;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || fchdir(dir))
		return -errno;
	return give(client_fd, BROKER_FOLDER, dir);
}

/* A terminal that the recorder prints to, made with the client's ids; the client gets the other side. */
static int open_terminal(int client_fd)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), fd;
	char name[64];

	if (master < 0 || grantpt(master) || unlockpt(master) ||
	    ptsname_r(master, name, sizeof(name)))
		return -errno;
	/* It becomes the one of this session. */
	fd = open(name, O_RDWR);
	if (fd < 0)
		return -errno;
	return give(client_fd, BROKER_STREAM, master) ? -EPIPE : fd;
}

static int open_pipe(int client_fd)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	return give(client_fd, BROKER_STREAM, fds[0]) ? -EPIPE : fds[1];
}

/* What the command prints; of a recording, nothing. Returns a descriptor, or -errno. */
static int open_stream(const struct broker_request *r, int client_fd)
{
	int fd;

	if (r->command == BROKER_RECORD)
		fd = open("/dev/null", O_RDWR);
	else if (r->flags & BROKER_TERMINAL)
		return open_terminal(client_fd);
	else
		return open_pipe(client_fd);
	return fd < 0 ? -errno : fd;
}

/* Below the numbers that these get. */
static int raise_fd(int *fd)
{
	if (*fd >= 0 && *fd <= OWN_OPENER_FD)
		*fd = fcntl(*fd, F_DUPFD, OWN_OPENER_FD + 1);
	return *fd;
}

/* Takes the stream and the opener. */
static int set_descriptors(int stream, int began_fd, int opener)
{
	int null = open("/dev/null", O_RDWR), messages;
	bool has_opener = opener >= 0;

	messages = open(BROKER_MESSAGES, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (raise_fd(&null) < 0 || raise_fd(&messages) < 0 || raise_fd(&stream) < 0 ||
	    raise_fd(&began_fd) < 0 || (has_opener && raise_fd(&opener) < 0))
		return -errno;
	if (dup2(isatty(stream) ? stream : null, 0) < 0 || dup2(stream, 1) < 0 ||
	    dup2(messages, 2) < 0 || dup2(began_fd, OWN_BEGAN_FD) < 0 ||
	    (has_opener && dup2(opener, OWN_OPENER_FD) < 0))
		return -errno;
	close(null);
	close(messages);
	close(stream);
	if (has_opener)
		close(opener);
	return 0;
}

/* The last place stays NULL. */
static void add(struct recorder_line *l, const char *word)
{
	if (l->cnt + 1 >= sizeof(l->argv) / sizeof(l->argv[0]))
		_exit(126);
	l->argv[l->cnt++] = (char *)word;
}

void recorder_line(struct recorder_line *l, const struct recorder_job *job)
{
	const struct broker_request *r = job->request;
	/* As arguments: these have no such option. */
	const bool has_pids = r->command == BROKER_LIST || r->command == BROKER_DOCTOR;
	const char *word = NULL;

	add(l, "krait");
	add(l, job->all ? OWN_ALL_WORD : OWN_WORD);
	add(l, served_command(r->command));
	if (r->command == BROKER_RECORD || r->command == BROKER_TOP)
		add(l, "--no-realtime");
	if (r->command == BROKER_RECORD)
		add(l, "--output=" BROKER_CAPTURE);
	if (r->command == BROKER_RECORD && !job->kernel)
		add(l, "--no-kernel");
	/* Whose files they are is more than a capture should decide. */
	if (r->command == BROKER_RECORD && job->all)
		add(l, "--no-source");
	while ((word = served_next(r, word))) {
		if (!has_pids || strncmp(word, "--pid=", 6))
			add(l, word);
	}
	/* A wall behind the broker's clock, should that be killed. The last one counts. */
	if (job->served->limited && (r->command == BROKER_RECORD || r->command == BROKER_TOP)) {
		snprintf(l->duration, sizeof(l->duration), "--duration=%llus",
			 job->served->duration_ns / NS_PER_SEC + 60);
		add(l, l->duration);
	}
	for (unsigned i = 0; has_pids && i < job->served->pid_cnt; i++) {
		snprintf(l->pids[i], sizeof(l->pids[i]), "%d", job->served->pids[i]);
		add(l, l->pids[i]);
	}
}

/* With the client's ids, and one right, for moments. It ends with the recorder. */
static void be_opener(const struct peer *peer, int fd, pid_t recorder)
{
	const __u64 right = RIGHTS_BIT(CAP_SYS_PTRACE);

	if (become(peer, right) || rights_keep_and_permit(0, right) ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) ||
	    getppid() != recorder || dup2(fd, 0) < 0 || close_range(1, ~0U, 0))
		_exit(126);
	prctl(PR_SET_NAME, "krait-opener");
	_exit(opener_serve(0));
}

/* *ret_fd: the recorder's end; -1: none is needed. Returns 0 or -errno. */
static int start_opener(const struct recorder_job *job, int *ret_fd)
{
	pid_t recorder = getpid(), pid;
	int fds[2];

	*ret_fd = -1;
	if (!job->opener)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return -errno;
	pid = fork();
	if (!pid)
		be_opener(job->peer, fds[1], recorder);
	close(fds[1]);
	*ret_fd = fds[0];
	return pid < 0 ? -EAGAIN : 0;
}

/* No home, where defaults and caches would be the client's, and none of its defaults. */
char *const recorder_environment[] = { (char *)"HOME=/nonexistent",   (char *)"KRAIT_CONFIG=",
				       (char *)"PATH=/usr/bin:/bin",  (char *)"LANG=C.UTF-8",
				       (char *)"TERM=xterm-256color", NULL };

int recorder_become(const char *folder, const struct recorder_job *job, int began_fd, pid_t broker)
{
	const struct rights_ids workers = ids_of(job->peer, RIGHTS_BIT(CAP_CHECKPOINT_RESTORE));
	int opener, stream;

	if (setsid() < 0 || set_limits(job->bytes))
		return -errno;
	recorder_give_way();
	if (start_opener(job, &opener))
		return -EPERM;
	worker_tell_ids(&workers, opener);
	if (become(job->peer, handed_down(job->all)))
		return -EPERM;
	/* Only now: a change of ids forgets it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || getppid() != broker)
		return -EPERM;
	if (enter_folder(folder, job->client_fd))
		return -EPIPE;
	stream = open_stream(job->request, job->client_fd);
	return stream < 0 ? stream : set_descriptors(stream, began_fd, opener);
}

static _Noreturn void be_recorder(const struct recorder *r, const struct recorder_job *job,
				  int began_fd, pid_t broker)
{
	struct recorder_line line = { 0 };
	sigset_t none;

	sigemptyset(&none);
	if (recorder_become(r->folder, job, began_fd, broker) ||
	    close_range((job->opener ? OWN_OPENER_FD : OWN_BEGAN_FD) + 1, ~0U, 0) ||
	    sigprocmask(SIG_SETMASK, &none, NULL))
		_exit(126);
	recorder_line(&line, job);
	execve("/proc/self/exe", line.argv, recorder_environment);
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

int recorder_start(struct recorder *ret, const struct recorder_job *job, struct spare *spare)
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
	began = fcntl(fds[1], F_DUPFD_CLOEXEC, OWN_OPENER_FD + 1);
	close(fds[1]);
	if (began >= 0 && spare_give(spare, job, began, ret))
		return 0;
	ret->pid = began < 0 ? -1 : fork();
	if (!ret->pid)
		be_recorder(ret, job, began, broker);
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
