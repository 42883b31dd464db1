/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/perfmap/mapper.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/perfmap/mapper_protocol.h"
#include "capture/perfmap/perf_map_file.h"
#include "process/proc/proc.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/share/time_share.h"
#include "base/worker/channel.h"
#include "base/worker/rights.h"

/* The worker keeps what it needs to find out a process's user and root. */
#define KEPT                                                                                       \
	(RIGHTS_BIT(CAP_SETUID) | RIGHTS_BIT(CAP_SETGID) | RIGHTS_BIT(CAP_SYS_PTRACE) |            \
	 RIGHTS_BIT(CAP_DAC_READ_SEARCH))
/* With this many children that do not end even when killed, we stop trying. */
#define MAX_STUCK 4

/*
 * How long krait waits for unresponsive folders of one user, of all users but root together, and
 * of root: without a limit, a user with many processes could keep the recording from ending.
 */
#define NO_MORE (~0ULL)
static const struct time_share_limits limits = {
	.first_ns = (2 * MAPPER_MS - 1) * NS_PER_MS,
	.part = NO_MORE,
	.all_first_ns = 10 * MAPPER_MS * NS_PER_MS,
	.all_part = NO_MORE,
	.root_first_ns = 10 * MAPPER_MS * NS_PER_MS,
	.root_part = NO_MORE,
};

struct mapper_state {
	unsigned stuck;
	struct time_share waits;
};

static int answer(int channel, const struct mapper_request *r, int fd_or_error, const char *path)
{
	struct mapper_answer a = { .number = r->number,
				   .error = fd_or_error < 0 ? fd_or_error : 0 };

	snprintf(a.path, sizeof(a.path), "%s", path);
	return channel_send(channel, &a, sizeof(a), fd_or_error < 0 ? NULL : &fd_or_error,
			    fd_or_error < 0 ? 0 : 1);
}

/* In the child: finds the place, becomes the process's user, and only then touches anything there. */
static _Noreturn void make_one(int channel, const struct mapper_request *r)
{
	char path[sizeof(((struct mapper_answer *)NULL)->path)] = "";
	struct perf_map_place place;
	int fd = perf_map_file_find(r->pid, r->start_ticks, &place);

	if (!fd)
		fd = perf_map_file_become(&place);
	if (!fd)
		fd = perf_map_file_open(&place, r->first_line, path, sizeof(path));
	_exit(answer(channel, r, fd, path) ? 1 : 0);
}

/* Returns false on timeout. */
static bool await(pid_t pid, int timeout_ms, bool *ret_fine)
{
	cleanup_close int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd fd = { .fd = pidfd, .events = POLLIN };
	int status;

	if (pidfd < 0 || poll(&fd, 1, timeout_ms) != 1 || waitpid(pid, &status, WNOHANG) != pid)
		return false;
	*ret_fine = WIFEXITED(status) && !WEXITSTATUS(status);
	return true;
}

static unsigned reap(unsigned stuck)
{
	while (stuck && waitpid(-1, NULL, WNOHANG) > 0)
		stuck--;
	return stuck;
}

static void serve_one(int channel, const struct mapper_request *r, struct mapper_state *s)
{
	uid_t owner = proc_owner(r->pid);
	bool fine = false;
	pid_t pid;

	s->stuck = reap(s->stuck);
	if (time_share_refuses(&s->waits, owner, 0)) {
		(void)!answer(channel, r, -ETIMEDOUT, "");
		return;
	}
	pid = s->stuck < MAX_STUCK ? fork() : -1;
	if (pid < 0) {
		(void)!answer(channel, r, -EAGAIN, "");
		return;
	}
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		make_one(channel, r);
	}
	if (!await(pid, MAPPER_MS, &fine)) {
		kill(pid, SIGKILL);
		s->stuck++;
		time_share_note(&s->waits, owner, MAPPER_MS * NS_PER_MS);
		(void)!answer(channel, r, -ETIMEDOUT, "");
	} else if (!fine) {
		(void)!answer(channel, r, -EIO, "");
	}
}

int mapper_serve(int channel_fd)
{
	struct mapper_state s = { .waits.limits = limits };
	struct mapper_request r;
	ssize_t n;

	if (rights_keep(KEPT))
		return 1;
	while ((n = channel_recv(channel_fd, &r, sizeof(r), NULL, NULL, -1)) > 0) {
		if (n != sizeof(r))
			return 1;
		r.first_line[sizeof(r.first_line) - 1] = '\0';
		serve_one(channel_fd, &r, &s);
	}
	return 0;
}
