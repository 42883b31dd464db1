/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/safe_open.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cleanup.h"

#define BUILD_ID_MIN 3
#define BUILD_ID_MAX 32

/* What an O_PATH descriptor stands for, if it is a regular file. */
static int reopen(int path_fd, struct stat *ret)
{
	char link[32];
	struct stat st;
	int fd;

	if (fstat(path_fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (ret)
		*ret = st;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int safe_open(int dir_fd, const char *path, struct stat *ret)
{
	cleanup_close int fd = openat(dir_fd, path, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : reopen(fd, ret);
}

int safe_open_in(int root_fd, const char *path, struct stat *ret)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	cleanup_close int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : reopen(fd, ret);
}

int safe_open_debug(int root_fd, const __u8 *build_id, size_t size, uid_t owner)
{
	char path[64 + 2 * BUILD_ID_MAX] = "usr/lib/debug/.build-id/";
	cleanup_close int fd = -1;
	struct stat st;
	int len = 24;

	if (size < BUILD_ID_MIN || size > BUILD_ID_MAX)
		return -ENOENT;
	for (size_t i = 0; i < size; i++)
		len += snprintf(path + len, sizeof(path) - (size_t)len, "%02x%s", build_id[i],
				i ? "" : "/");
	snprintf(path + len, sizeof(path) - (size_t)len, ".debug");
	fd = safe_open_in(root_fd, path, &st);
	if (fd < 0)
		return take_fd(&fd);
	if ((st.st_uid && st.st_uid != owner) || st.st_mode & (S_IWGRP | S_IWOTH))
		return -EPERM;
	return take_fd(&fd);
}
