/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/perf_map_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target/context.h"
#include "util/cleanup.h"

static bool same_mounts(pid_t pid)
{
	struct stat ours, theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	return !stat(path, &theirs) && !stat("/proc/self/ns/mnt", &ours) &&
	       ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

/* glibc has no such function before 2.43. */
static int open_beneath(int root_fd, const char *path, bool trusted)
{
	const struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = trusted ? RESOLVE_IN_ROOT :
				     RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* Ours are regular files of our user, under one name, that begin with the line. */
static bool is_ours(int dir_fd, const char *name, const char *first_line)
{
	cleanup_close int fd =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	size_t len = strlen(first_line);
	char start[128];
	struct stat st;

	return fd >= 0 && len <= sizeof(start) && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	       st.st_nlink == 1 && st.st_uid == geteuid() && read(fd, start, len) == (ssize_t)len &&
	       !memcmp(start, first_line, len);
}

static int create(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

	return fd < 0 ? -errno : fd;
}

int perf_map_file_open_at(int root_fd, bool trusted, pid_t pid, const char *first_line)
{
	cleanup_close int dir = open_beneath(root_fd, "tmp", trusted);
	char name[32];
	int fd;

	if (dir < 0)
		return dir;
	snprintf(name, sizeof(name), "perf-%d.map", (int)pid);
	fd = create(dir, name);
	if (fd != -EEXIST || !is_ours(dir, name, first_line))
		return fd;
	/* Whoever is quicker has put a file there that is not ours: that is refused, not written. */
	return unlinkat(dir, name, 0) ? -errno : create(dir, name);
}

int perf_map_file_open(pid_t pid, const char *first_line, char *ret_path, size_t size)
{
	cleanup_close int root = -1;
	struct context context;
	char path[64] = "/";
	bool trusted;

	context_read(pid, &context, NULL);
	trusted = !context.known || same_mounts(pid);
	if (!trusted)
		snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	if (context.known && context.ns_pid > 0)
		pid = context.ns_pid;
	snprintf(ret_path, size, "/tmp/perf-%d.map", (int)pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? -errno : perf_map_file_open_at(root, trusted, pid, first_line);
}
