/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/system/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/system/error.h"

/* Enough for krait's own buffers (several paths of 4 KiB in a row) and the libraries it calls. */
#define STACK_MIN (1UL << 20)
#define STACK_WANTED (8UL << 20)

/* What the process was started with; set once. */
static struct rlimit started_stack;

/*
 * Otherwise the next file that krait opens would become its output or input. We open with the wrong
 * access mode so that using the closed descriptor still fails. A launched command finds it closed.
 */
static int open_closed(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		if (open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC) != fd)
			return -errno;
	}
	return 0;
}

/*
 * A reader that leaves, or a file that grows too large, fails only that write instead of killing
 * krait.
 */
static void ignore_signals(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

/* The first thread's stack can grow up to the limit in force when it grows. */
static int raise_stack(struct error *err)
{
	struct rlimit limit;
	pthread_attr_t attr;
	int failed;

	if (getrlimit(RLIMIT_STACK, &limit))
		return 0;
	started_stack = limit;
	if (limit.rlim_cur >= STACK_MIN)
		return 0;
	limit.rlim_cur = limit.rlim_max < STACK_WANTED ? limit.rlim_max : STACK_WANTED;
	if (limit.rlim_cur < STACK_MIN)
		limit.rlim_cur = limit.rlim_max = STACK_WANTED; /* root may do this */
	if (setrlimit(RLIMIT_STACK, &limit))
		return error_set(err, errno, EXIT_CODE_KERNEL,
				 "a stack of %llu KiB is too small (ulimit -s): krait needs %lu",
				 (unsigned long long)started_stack.rlim_cur >> 10, STACK_MIN >> 10);
	/* The C library has already taken the old limit as the stack size of new threads. */
	if (pthread_attr_init(&attr))
		return 0;
	failed = pthread_attr_setstacksize(&attr, STACK_MIN) || pthread_setattr_default_np(&attr);
	pthread_attr_destroy(&attr);
	return failed ? error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory") : 0;
}

/* Libraries read these variables by themselves. */
static void forget_variables(void)
{
	/* libdebuginfod's; ncurses', which also looks below the home folder. */
	static const char *const names[] = { "DEBUGINFOD_URLS",
					     "DEBUGINFOD_CACHE_PATH",
					     "DEBUGINFOD_PROGRESS",
					     "DEBUGINFOD_VERBOSE",
					     "DEBUGINFOD_HEADERS_FILE",
					     "TERMINFO",
					     "TERMINFO_DIRS",
					     "TERMCAP",
					     "TERMPATH",
					     "HOME" };

	if (!getauxval(AT_SECURE))
		return;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
}

int environment_prepare(struct error *err)
{
	if (open_closed())
		return error_set(err, errno, EXIT_CODE_KERNEL,
				 "a standard descriptor is closed and /dev/null cannot be opened");
	ignore_signals();
	forget_variables();
	return raise_stack(err);
}

void environment_restore(void)
{
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if (started_stack.rlim_cur || started_stack.rlim_max)
		setrlimit(RLIMIT_STACK, &started_stack);
}

bool environment_find(char ret[PATH_MAX], const char *command)
{
	const char *path = strchr(command, '/') ? "" : getenv("PATH");

	for (; path; path = strchr(path, ':') ? strchr(path, ':') + 1 : NULL) {
		const int len = (int)strcspn(path, ":");

		/* An empty one is the current folder. */
		snprintf(ret, PATH_MAX, "%.*s%s%s", len, path, len ? "/" : "", command);
		if (!access(ret, X_OK))
			return true;
	}
	return false;
}
