/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/common/source_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "output/source_file.h"
#include "output/source_lookup.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/files/sudo_user.h"

#define OWN_FD 3

struct answer {
	int err; /* 0 or -errno */
	__u32 size; /* of the text that follows */
};

/* ---- in the child ----------------------------------------------------------------------------- */

static void write_all(int fd, const void *data, size_t size)
{
	for (const char *at = data; size;) {
		ssize_t n = write(fd, at, size);

		if (n <= 0)
			_exit(1);
		at += n;
		size -= (size_t)n;
	}
}

/* The child keeps only one of krait's descriptors, and dies with krait. */
static void become_child(int fd, pid_t parent)
{
	const struct sched_param ordinary = { 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || dup2(fd, OWN_FD) < 0 ||
	    syscall(SYS_close_range, OWN_FD + 1, ~0U, 0))
		_exit(1);
	sched_setscheduler(0, SCHED_OTHER, &ordinary);
}

static _Noreturn void be_child(int fd, pid_t parent, const struct dict *dict, __u32 file,
			       const char *folder)
{
	struct sudo_user_scope scope;
	struct answer answer;
	char *text = NULL;

	become_child(fd, parent);
	answer.err = sudo_user_enter(&scope);
	if (!answer.err)
		answer.err = source_lookup(&text, NULL, dict, file, folder, true);
	answer.size = answer.err ? 0 : (__u32)strlen(text);
	write_all(OWN_FD, &answer, sizeof(answer));
	write_all(OWN_FD, text ? text : "", answer.size);
	_exit(0);
}

/* ---- in krait --------------------------------------------------------------------------------- */

/* Returns 0, -ETIMEDOUT, or -EIO if the child ended early. */
static int read_all(int fd, void *ret, size_t size, __u64 deadline_ns)
{
	for (char *at = ret; size;) {
		struct pollfd wait = { .fd = fd, .events = POLLIN };
		__u64 now_ns = clock_monotonic_ns();
		ssize_t n;

		if (now_ns >= deadline_ns)
			return -ETIMEDOUT;
		if (poll(&wait, 1, (int)((deadline_ns - now_ns) / 1000000) + 1) <= 0)
			continue;
		n = read(fd, at, size);
		if (n <= 0)
			return -EIO;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static int take_answer(char **ret, int fd, __u64 deadline_ns)
{
	cleanup_free char *text = NULL;
	struct answer answer;
	int err = read_all(fd, &answer, sizeof(answer), deadline_ns);

	if (err || answer.err)
		return err ? err : answer.err;
	if (answer.size > SOURCE_FILE_MAX)
		return -EFBIG;
	text = malloc((size_t)answer.size + 1);
	if (!text)
		return -ENOMEM;
	err = read_all(fd, text, answer.size, deadline_ns);
	if (err)
		return err;
	text[answer.size] = '\0';
	*ret = take_ptr(&text);
	return 0;
}

int source_read_apart(char **ret, const struct dict *dict, __u32 file, const char *folder,
		      int timeout_ms)
{
	__u64 deadline_ns = clock_monotonic_ns() + (__u64)timeout_ms * 1000000;
	pid_t parent = getpid(), child;
	int fds[2], err;

	if (pipe2(fds, O_CLOEXEC))
		return -EAGAIN;
	child = fork();
	if (!child)
		be_child(fds[1], parent, dict, file, folder);
	close(fds[1]);
	err = child < 0 ? -EAGAIN : take_answer(ret, fds[0], deadline_ns);
	close(fds[0]);
	if (child > 0) {
		kill(child, SIGKILL);
		/* A child that cannot be killed now ends later; nobody needs its status. */
		waitpid(child, NULL, err == -ETIMEDOUT ? WNOHANG : 0);
	}
	return err;
}
