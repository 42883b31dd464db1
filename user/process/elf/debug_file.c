/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/elf/debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "process/proc/open_file.h"
#include "base/data/cleanup.h"

#define ID_MIN 3
#define ID_MAX 32
#define FOLDER "usr/lib/debug/.build-id/"

int debug_file_open(const char *root, const __u8 *build_id, size_t size, uid_t owner)
{
	char path[sizeof(FOLDER) + 2 * ID_MAX + sizeof("/.debug")] = FOLDER;
	cleanup_close int dir = -1, fd = -1;
	size_t len = sizeof(FOLDER) - 1;
	struct stat st;

	if (size < ID_MIN || size > ID_MAX)
		return -ENOENT;
	for (size_t i = 0; i < size; i++)
		len += (size_t)snprintf(path + len, sizeof(path) - len, "%02x%s", build_id[i],
					i ? "" : "/");
	snprintf(path + len, sizeof(path) - len, ".debug");
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	fd = open_file_below(dir, path, &st);
	if (fd < 0)
		return take_fd(&fd);
	/* A process's root may have any file of root's in it. */
	if (st.st_uid != owner && (st.st_uid || !(st.st_mode & S_IROTH)))
		return -EPERM;
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return -EPERM;
	return open_file_read(fd);
}
