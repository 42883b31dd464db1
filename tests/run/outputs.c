/* SPDX-License-Identifier: BSD-2-Clause */
#include "outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/system/clock.h"

static void write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t done = write(fd, data, size);

		if (done < 0 && errno != EINTR)
			return;
		if (done > 0) {
			data += done;
			size -= (size_t)done;
		}
	}
}

/* Copies all that comes to both, or to the file alone (to: -1); does not return. */
static void copy_to_both(int from, int to, int file)
{
	char data[1 << 16];
	ssize_t size;

	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	while ((size = read(from, data, sizeof(data))) > 0 || (size < 0 && errno == EINTR)) {
		if (size < 0)
			continue;
		if (to >= 0)
			write_all(to, data, (size_t)size);
		write_all(file, data, (size_t)size);
	}
	_exit(0);
}

/*
 * Copies what is written to fd into the file (alone: nowhere else), in a process that is not our child: it ends when nobody has
 * fd any more.
 */
static void keep(int fd, const char *path, bool alone)
{
	int ends[2], file;
	pid_t pid;

	if (pipe(ends))
		return;
	pid = fork();
	if (!pid) {
		if (fork())
			_exit(0);
		close(ends[1]);
		close(fd == STDOUT_FILENO ? STDERR_FILENO : STDOUT_FILENO);
		file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
		copy_to_both(ends[0], alone ? -1 : fd, file);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
	dup2(ends[1], fd);
	close(ends[0]);
	close(ends[1]);
}

void outputs_keep(const char *folder, const char *test)
{
	cleanup_close int fd = -1;
	char path[PATH_MAX];
	int at;

	if (!folder)
		return;
	at = snprintf(path, sizeof(path), "%s/", folder);
	snprintf(path + at, sizeof(path) - (size_t)at, "%s.log", test + strspn(test, "/"));
	for (char *p = path + at; *p; p++) {
		if (*p == '/')
			*p = '.';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	keep(STDOUT_FILENO, path, false);
	keep(STDERR_FILENO, path, getenv("KRAIT_HUSH") != NULL);
}

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

void outputs_add_times(const char *folder, const char *test, __u64 elapsed_ns)
{
	char path[PATH_MAX], line[PATH_MAX + 64];
	cleanup_close int fd = -1;
	struct rusage used;
	int size;

	if (!folder || getrusage(RUSAGE_CHILDREN, &used))
		return;
	size = snprintf(line, sizeof(line), "%.2f\t%.2f\t%s\n", (double)elapsed_ns / NS_PER_SEC,
			seconds_of(used.ru_utime) + seconds_of(used.ru_stime), test);
	snprintf(path, sizeof(path), "%s/times.tsv", folder);
	/* A single append: lines of parallel tests do not mix. */
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd >= 0)
		write_all(fd, line, (size_t)size);
}
