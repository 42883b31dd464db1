/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/broker/spare.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/common/commands.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/worker/channel.h"
#include "base/worker/own.h"
#include "base/worker/rights.h"
#include "base/worker/worker.h"

/* It becomes the descriptor that the recorder says with that it has begun. */
#define SPARE_FD OWN_BEGAN_FD
/* From the broker, with the client's connection, and what to say with that it has begun. */
struct spare_job {
	uid_t uid;
	gid_t gid;
	__u32 group_cnt;
	gid_t groups[RIGHTS_GROUPS_MAX];
	bool kernel, opener;
	__u64 bytes;
	char folder[RECORDER_FOLDER_SIZE];
	struct broker_request request; /* which the broker has checked */
	struct served served;
};

/* ---- in the broker ---------------------------------------------------------------------------- */

static _Noreturn void be_spare(int theirs, bool kernel)
{
	char *argv[] = { (char *)"krait",
			 (char *)OWN_SPARE_WORD,
			 (char *)"record",
			 (char *)"--pid=1",
			 (char *)(kernel ? NULL : "--no-kernel"),
			 NULL };
	sigset_t none;
	int null = open("/dev/null", O_RDWR);

	sigemptyset(&none);
	/* Messages are the broker's until it is somebody's. The last one keeps that number free. */
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(theirs, SPARE_FD) < 0 ||
	    dup2(null, OWN_OPENER_FD) < 0 || close_range(OWN_OPENER_FD + 1, ~0U, 0) ||
	    sigprocmask(SIG_SETMASK, &none, NULL))
		_exit(126);
	execve("/proc/self/exe", argv, recorder_environment);
	_exit(126);
}

int spare_start(struct spare *s, bool kernel)
{
	cleanup_close int theirs = -1;
	pid_t pid = -1;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return -errno;
	theirs = fcntl(fds[1], F_DUPFD_CLOEXEC, OWN_OPENER_FD + 1);
	close(fds[1]);
	if (theirs >= 0 && !fcntl(fds[0], F_SETFL, O_NONBLOCK))
		pid = fork();
	if (!pid)
		be_spare(theirs, kernel);
	*s = (struct spare){ .pid = pid, .pidfd = -1, .fd = fds[0] };
	if (pid > 0)
		s->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (s->pidfd >= 0)
		return 0;
	/* Nothing would tell of its end. */
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	close(fds[0]);
	*s = SPARE_NONE;
	return -EAGAIN;
}

int spare_fd(const struct spare *s)
{
	return s->fd >= 0 ? s->fd : s->pidfd;
}

bool spare_hear(struct spare *s)
{
	char byte;
	ssize_t n;

	if (s->fd >= 0) {
		n = channel_recv(s->fd, &byte, 1, NULL, NULL, 0);
		if (n == 1 && !s->ready)
			s->ready = true;
		else if (n != -ETIMEDOUT) {
			spare_end(s);
			return false;
		}
	} else if (s->pid && waitpid(s->pid, NULL, WNOHANG) == s->pid) {
		close(s->pidfd);
		*s = SPARE_NONE;
	}
	return true;
}

void spare_end(struct spare *s)
{
	if (s->fd < 0)
		return;
	close(s->fd);
	s->fd = -1;
	s->ready = false;
	kill(s->pid, SIGKILL);
}

bool spare_give(struct spare *s, const struct recorder_job *job, int began_fd, struct recorder *ret)
{
	const struct peer *p = job->peer;
	const int fds[] = { job->client_fd, began_fd };
	struct spare_job msg = { .uid = p->uid,
				 .gid = p->gid,
				 .group_cnt = (__u32)p->group_cnt,
				 .kernel = job->kernel,
				 .opener = job->opener,
				 .bytes = job->bytes,
				 .request = *job->request,
				 .served = *job->served };

	/* Only to whom its programs suit: it would load others, and be used up. */
	if (!s->ready || job->all || !job->served->usual)
		return false;
	if (p->group_cnt)
		memcpy(msg.groups, p->groups, p->group_cnt * sizeof(*p->groups));
	memcpy(msg.folder, ret->folder, sizeof(msg.folder));
	if (channel_send(s->fd, &msg, sizeof(msg), fds, 2)) {
		spare_end(s);
		return false;
	}
	ret->pid = s->pid;
	ret->pidfd = s->pidfd;
	close(s->fd);
	*s = SPARE_NONE;
	return true;
}

/* ---- in the spare ----------------------------------------------------------------------------- */

/* Only the broker has the other end. */
static bool is_the_brokers(void)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return !geteuid() && !getuid() &&
	       !getsockopt(SPARE_FD, SOL_SOCKET, SO_PEERCRED, &peer, &len) && !peer.uid &&
	       !prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) && getppid() == peer.pid &&
	       !prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) && !fcntl(SPARE_FD, F_SETFD, FD_CLOEXEC) &&
	       !fcntl(OWN_OPENER_FD, F_SETFD, FD_CLOEXEC);
}

/* What ps shows: the words of the process's begin are one after the other in memory. */
static void show_line(char *const *shown, int shown_cnt, char *const *words)
{
	char *to = shown[0], *end = shown[shown_cnt - 1] + strlen(shown[shown_cnt - 1]);

	memset(to, 0, (size_t)(end - to));
	for (; *words && to + strlen(*words) < end; words++) {
		memcpy(to, *words, strlen(*words));
		to += strlen(*words) + 1;
	}
}

/* What came belongs to nobody else. Returns 0, or a negative result. */
static int take_job(struct spare_job *job, int fds[2])
{
	unsigned cnt = 2;
	ssize_t n = channel_recv(SPARE_FD, job, sizeof(*job), fds, &cnt, -1);

	return n == sizeof(*job) && cnt == 2 && job->group_cnt <= RIGHTS_GROUPS_MAX ? 0 : -EPROTO;
}

/* The descriptors are free afterwards. */
static int become(const struct spare_job *msg, int fds[2], struct recorder_line *line)
{
	const struct peer peer = { .uid = msg->uid,
				   .gid = msg->gid,
				   .groups = (gid_t *)msg->groups,
				   .group_cnt = msg->group_cnt,
				   .pidfd = -1 };
	const struct recorder_job job = { .peer = &peer,
					  .request = &msg->request,
					  .served = &msg->served,
					  .kernel = msg->kernel,
					  .opener = msg->opener,
					  .bytes = msg->bytes,
					  .client_fd = fds[0] };
	int err = recorder_become(msg->folder, &job, fds[1], getppid());

	close(fds[0]);
	close(fds[1]);
	if (!err)
		recorder_line(line, &job);
	return err;
}

int spare_serve(int *argc, char ***argv)
{
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	static struct recorder_line line;
	static struct spare_job job;
	struct error err;
	int fds[2];

	if (!is_the_brokers())
		return -1;
	recorder_give_way();
	/* Kernels before 5.11 charge BPF maps against it. */
	(void)setrlimit(RLIMIT_MEMLOCK, &all);
	/* What most recordings start at once. */
	worker_start_ahead("prober", true);
	worker_start_ahead("prober", false);
	worker_start_ahead("parser", false);
	own_expect();
	if (record_load_ahead(*argc - 2, *argv + 2, &err)) {
		log_warn(NULL, "a spare recorder cannot load its programs: %s", err.text);
		_exit(1);
	}
	if (channel_send(SPARE_FD, "", 1, NULL, 0) || take_job(&job, fds))
		_exit(0);
	if (become(&job, fds, &line))
		_exit(126);
	show_line(*argv, *argc, line.argv);
	*argv = line.argv;
	*argc = (int)line.cnt;
	return 0;
}
