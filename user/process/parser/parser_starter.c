/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/parser/parser_starter.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/parser/parser_protocol.h"
#include "base/data/cleanup.h"
#include "base/system/priority.h"
#include "base/worker/channel.h"
#include "base/worker/rights.h"
#include "base/worker/role.h"
#include "base/worker/sandbox.h"

/* Parsers at the same time: a few for symbols and two for debug information. */
#define PARSERS_MAX 32
#define ROOM_FD (ROLE_CHANNEL_FD + 1)

/*
 * Memory: a file that does not fit is read in pieces. Time: krait ends a job much earlier; this
 * limit is for a parser whose krait no longer watches.
 */
static const struct sandbox_limits limits = {
	.memory = 1ULL << 30,
	.cpu_seconds = 600,
	.fds = 4 + 2 * (PARSER_FILES_MAX + 1),
};

struct starter {
	pid_t pid;
	int room;
	void (*serve)(int channel_fd);
	struct {
		pid_t pid; /* 0: free */
		bool dying;
	} parsers[PARSERS_MAX];
};

/* Runs in the child. Its channel replaces the starter's. */
static void become_parser(const struct starter *s, int channel, unsigned urgent_usec)
{
	priority_bound(urgent_usec);
	/* The starter may be gone already. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != s->pid)
		_exit(1);
	prctl(PR_SET_NAME, "krait-parse");
	if (dup2(channel, ROLE_CHANNEL_FD) < 0 || (s->room >= 0 && dup2(s->room, ROOM_FD) < 0))
		_exit(1);
	close_range(s->room < 0 ? ROOM_FD : ROOM_FD + 1, ~0U, 0);
	if (sandbox_enter(s->room < 0 ? -1 : ROOM_FD, &limits))
		_exit(1);
	close(ROOM_FD);
	s->serve(ROLE_CHANNEL_FD);
	_exit(0);
}

/* A parser blocked on memory that never arrives can neither be killed nor reaped. */
static void reap(struct starter *s)
{
	for (int i = 0; i < PARSERS_MAX; i++) {
		if (!s->parsers[i].dying || !waitpid(s->parsers[i].pid, NULL, WNOHANG))
			continue;
		s->parsers[i].pid = 0;
		s->parsers[i].dying = false;
	}
}

static pid_t start(struct starter *s, int channel, unsigned urgent_usec)
{
	for (int i = 0; i < PARSERS_MAX; i++) {
		pid_t pid;

		if (s->parsers[i].pid)
			continue;
		pid = fork();
		if (!pid)
			become_parser(s, channel, urgent_usec);
		s->parsers[i].pid = pid > 0 ? pid : 0;
		return s->parsers[i].pid;
	}
	return 0;
}

/* The pid stays the parser's until we have reaped it. */
static void end(struct starter *s, pid_t pid)
{
	for (int i = 0; i < PARSERS_MAX; i++) {
		if (!pid || s->parsers[i].pid != pid)
			continue;
		kill(pid, SIGKILL);
		s->parsers[i].dying = true;
	}
}

int parser_starter_serve(int channel_fd, void (*serve)(int channel_fd))
{
	struct starter s = { .pid = getpid(), .room = sandbox_room(), .serve = serve };

	if (rights_keep(RIGHTS_BIT(CAP_SETUID) | RIGHTS_BIT(CAP_SETGID) |
			RIGHTS_BIT(CAP_SYS_CHROOT) | RIGHTS_BIT(CAP_KILL)))
		return 1;
	for (;;) {
		struct starter_request request;
		struct starter_answer answer = { 0 };
		cleanup_close int channel = -1;
		int err = channel_take(channel_fd, &request, sizeof(request), &channel, -1);

		if (err)
			return err == -EPIPE ? 0 : 1;
		reap(&s);
		if (request.job == STARTER_END)
			end(&s, request.pid);
		if (request.job == STARTER_START && channel >= 0)
			answer.pid = start(&s, channel, request.urgent_usec);
		if (request.job == STARTER_START &&
		    channel_send(channel_fd, &answer, sizeof(answer), NULL, 0))
			return 1;
	}
}
