/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/system/environment.h"
#include "base/system/error.h"
#include "base/files/sudo_user.h"
#include "base/system/priority.h"
#include "base/system/privileges.h"

struct child {
	pid_t pid;
	int pidfd;
	int go; /* a byte written here lets the child exec */
	int failure; /* errno of exec arrives here; end of file means success */
	char name[64];
	bool ended;
	int status; /* from waitpid() */
};

/* Runs in the child: waits for the go byte, then becomes the command. */
static _Noreturn void child_main(char *const argv[], const sigset_t *mask, int go, int failure)
{
	char byte;
	int errnum;

	if (read(go, &byte, 1) != 1)
		_exit(127); /* krait gave up before it began */
	sigprocmask(SIG_SETMASK, mask, NULL);
	environment_restore();
	errnum = -sudo_user_restore_groups();
	if (!errnum) {
		execvp(argv[0], argv);
		errnum = errno;
	}
	if (write(failure, &errnum, sizeof(errnum)) < 0)
		_exit(126);
	_exit(errnum == ENOENT ? 127 : 126);
}

struct child *child__launch(char *const argv[], const sigset_t *mask, const struct rlimit *files,
			    const struct priority *priority, struct error *err)
{
	int go[2] = { -1, -1 }, failure[2] = { -1, -1 };
	struct child *c = calloc(1, sizeof(*c));

	if (!c || pipe2(go, O_CLOEXEC) || pipe2(failure, O_CLOEXEC))
		goto out_fail;
	c->pid = fork();
	if (c->pid < 0)
		goto out_fail;
	if (c->pid == 0) {
		close(go[1]);
		close(failure[0]);
		setrlimit(RLIMIT_NOFILE, files);
		priority_restore(priority);
		child_main(argv, mask, go[0], failure[1]);
	}
	close(go[0]);
	close(failure[1]);
	c->go = go[1];
	c->failure = failure[0];
	snprintf(c->name, sizeof(c->name), "%s", argv[0]);
	c->pidfd = syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd >= 0)
		return c;
	error_set(err, errno, EXIT_CODE_KERNEL, "pidfd_open: %s", strerror(errno));
	child__free(c);
	return NULL;
out_fail:
	error_set(err, errno, EXIT_CODE_KERNEL, "cannot launch %s: %s", argv[0], strerror(errno));
	for (int i = 0; i < 2; i++) {
		cleanup_close_(&go[i]);
		cleanup_close_(&failure[i]);
	}
	free(c);
	return NULL;
}

int child__go(struct child *c, struct error *err)
{
	int errnum = 0;
	ssize_t n;

	if (write(c->go, "", 1) != 1)
		return error_set(err, errno, EXIT_CODE_TARGET, "%s ended before it could start",
				 c->name);
	do {
		n = read(c->failure, &errnum, sizeof(errnum));
	} while (n < 0 && errno == EINTR);
	if (n != sizeof(errnum))
		return 0;
	return error_set(err, errnum, errnum == ENOENT ? 127 : 126, "cannot run %s: %s", c->name,
			 strerror(errnum));
}

void child__free(struct child *c)
{
	if (!c)
		return;
	cleanup_close_(&c->go);
	cleanup_close_(&c->failure);
	cleanup_close_(&c->pidfd);
	free(c);
}

pid_t child__pid(const struct child *c)
{
	return c->pid;
}

int child__fd(const struct child *c)
{
	return c->pidfd;
}

bool child__ended(struct child *c, int timeout_ms)
{
	struct pollfd fd = { .fd = c->pidfd, .events = POLLIN };

	if (!c->ended && poll(&fd, 1, timeout_ms) == 1)
		c->ended = waitpid(c->pid, &c->status, WNOHANG) == c->pid;
	return c->ended;
}

bool child__stop(struct child *c, int signal, int timeout_ms)
{
	cleanup_loan struct privileges_loan loan = privileges_borrow(CAP_KILL);

	(void)syscall(SYS_pidfd_send_signal, c->pidfd, signal, NULL, 0);
	return child__ended(c, timeout_ms);
}

int child__exit_code(const struct child *c)
{
	if (WIFSIGNALED(c->status))
		return 128 + WTERMSIG(c->status);
	return WEXITSTATUS(c->status);
}
