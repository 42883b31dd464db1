/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * contain.c - runs one test and cleans up after it: the test cannot outlive its time, and no process, mount or file of
 * it outlives the test, however it ends and whoever kills the caller.
 *
 * usage: contain SECONDS COMMAND [ARGUMENT...]     (prove -e 'build/tests/run/contain 600')
 *
 * As root, the test has its own mounts, and each /tmp it sees, here and in the roots of interpreters (KRAIT_PYTHONS), is
 * a new folder; without root, only TMPDIR is a new folder.
 *
 * KRAIT_OUTPUTS: a folder for the test's stdout and stderr, in NAME.log (its path, with dots for slashes), and for
 * times.tsv, with a line per test: elapsed seconds, CPU seconds of it and everything it started, and its path.
 *
 * KRAIT_HUSH: what the test says on stderr goes to that file only.
 *
 * Exits as the command does; 124 after a timeout. In C, because hundreds of tests are run in this way.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "folders.h"
#include "outputs.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"

#define MAX_LEFT 256
/* A process that survives SIGKILL for this long hangs in the kernel; we leave it to init. */
#define DEATH_NS (10 * NS_PER_SEC)
/* What is about to end by itself, like a browser's helpers, gets so long. */
#define GRACE_NS (200 * NS_PER_MS)
#define TIMED_OUT 124

struct contain {
	__u64 limit_ns;
	pid_t pid;
	struct folders folders;
	pid_t told[MAX_LEFT]; /* those left behind that stderr has been told of */
	unsigned told_cnt;
};

/* Tells stderr once of a process that the test has left behind. */
static void tell(struct contain *c, pid_t pid)
{
	char path[64], command[200];
	cleanup_close int fd = -1;
	ssize_t size;

	for (unsigned i = 0; i < c->told_cnt; i++) {
		if (c->told[i] == pid)
			return;
	}
	if (c->told_cnt < MAX_LEFT)
		c->told[c->told_cnt++] = pid;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? 0 : read(fd, command, sizeof(command) - 1);
	for (ssize_t i = 0; i + 1 < size; i++) {
		if (!command[i])
			command[i] = ' ';
	}
	if (size <= 0)
		return; /* it has ended */
	command[size] = '\0';
	dprintf(STDERR_FILENO, "\n# it left this behind, which was ended: %s\n", command);
}

static void kill_children(struct contain *c)
{
	cleanup_fclose FILE *f = NULL;
	char path[64];
	int pid;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &pid) == 1) {
		tell(c, pid);
		kill(pid, SIGKILL);
	}
}

/* Tells whether a child is still there. */
static bool has_children(void)
{
	pid_t pid;

	do
		pid = waitpid(-1, NULL, WNOHANG);
	while (pid > 0);
	return !pid;
}

/* Kills everything that is left. Orphans become our children, so this finds them in any case. */
static void kill_rest(struct contain *c)
{
	__u64 begin_ns = clock_monotonic_ns();

	while (has_children() && clock_monotonic_ns() < begin_ns + DEATH_NS) {
		if (clock_monotonic_ns() > begin_ns + GRACE_NS)
			kill_children(c);
		usleep(5000);
	}
}

/* Returns -1 if the test is still running, else its exit code. */
static int collect(const struct contain *c)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == c->pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return pid < 0 ? 1 : -1;
}

/* Returns the test's exit code, 124 after a timeout, or that of the signal that ends us. */
static int wait_for(const struct contain *c, const sigset_t *signals)
{
	__u64 deadline_ns = clock_monotonic_ns() + c->limit_ns;

	while (true) {
		__u64 now_ns = clock_monotonic_ns();
		__u64 left_ns = now_ns < deadline_ns ? deadline_ns - now_ns : 0;
		struct timespec t = { (time_t)(left_ns / NS_PER_SEC),
				      (long)(left_ns % NS_PER_SEC) };
		int number, code;

		number = sigtimedwait(signals, NULL, &t);
		if (number < 0 && errno == EINTR)
			continue;
		if (number < 0) {
			dprintf(STDERR_FILENO, "\n# took longer than %llu s, and was ended\n",
				c->limit_ns / NS_PER_SEC);
			return TIMED_OUT;
		}
		if (number != SIGCHLD)
			return 128 + number;
		code = collect(c);
		if (code >= 0)
			return code;
	}
}

static void run(const struct contain *c, char **command, const sigset_t *mask)
{
	sigprocmask(SIG_SETMASK, mask, NULL);
	folders_mount(&c->folders);
	execvp(command[0], command);
	fprintf(stderr, "%s: %s\n", command[0], strerror(errno));
	_exit(127);
}

/* Returns the test's exit code. */
static int contain(struct contain *c, char **command)
{
	sigset_t signals, mask;
	int code;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, &mask);
	c->pid = fork();
	if (!c->pid)
		run(c, command, &mask);
	code = c->pid < 0 ? 1 : wait_for(c, &signals);
	kill_rest(c);
	return code;
}

int main(int argc, char **argv)
{
	const char *folder = getenv("KRAIT_OUTPUTS");
	__u64 began_ns = clock_monotonic_ns();
	static struct contain c;
	pid_t parent = getppid();
	int code;

	if (argc < 3 || atoi(argv[1]) <= 0) {
		fprintf(stderr, "usage: contain SECONDS COMMAND [ARGUMENT...]\n");
		return 2;
	}
	c.limit_ns = (__u64)atoi(argv[1]) * NS_PER_SEC;
	outputs_keep(folder, argv[2]);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (getppid() != parent)
		return 1;
	folders_find(&c.folders, getpid());
	folders_remove(&c.folders);
	folders_make(&c.folders);
	code = contain(&c, argv + 2);
	folders_remove(&c.folders);
	outputs_add_times(folder, argv[2], clock_monotonic_ns() - began_ns);
	return code;
}
