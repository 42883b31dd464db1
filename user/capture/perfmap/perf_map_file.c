/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/perfmap/perf_map_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "process/proc/become_user.h"
#include "process/proc/context.h"
#include "base/data/cleanup.h"
#include "base/files/sudo_user.h"
#include "base/worker/rights.h"

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

int perf_map_file_find(pid_t pid, __u64 start_ticks, struct perf_map_place *ret)
{
	cleanup_close int dir = start_ticks ? proc_open_started(pid, start_ticks) : -1;
	struct context context = { .known = false };

	*ret = (struct perf_map_place){ .root_fd = -1, .pid = pid, .trusted = true };
	if (dir >= 0 && !proc_ids_at(dir, &ret->ids)) {
		ret->known = true;
		context_read_at(dir, false, &context, NULL);
		if (context.known && context.ns_pid > 0)
			ret->pid = context.ns_pid;
		ret->trusted = proc_shares_mounts(dir); /* perf looks there */
		ret->root_uid = become_user_root_of(dir);
	}
	ret->root_fd = openat(dir, ret->trusted ? "/" : "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return ret->root_fd < 0 ? -errno : 0;
}

int perf_map_file_become(const struct perf_map_place *place)
{
	int err = place->known ? become_user(&place->ids) : sudo_user_become();

	return err ? err : rights_keep(0);
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

/* Our files are regular, belong to our user, have a single link, and begin with the line. */
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
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

/* Refuses a folder that is no normal /tmp: another user could move our file or make us wait. */
static int check_folder(int fd, const struct perf_map_place *place)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) || fstat(fd, &st))
		return -errno;
	if (fs.f_type == FUSE_SUPER_MAGIC || !(st.st_mode & S_ISVTX) ||
	    (st.st_uid && st.st_uid != place->root_uid && st.st_uid != place->ids.euid))
		return -EPERM;
	return 0;
}

int perf_map_file_open(const struct perf_map_place *place, const char *first_line, char *ret_path,
		       size_t size)
{
	cleanup_close int dir = open_beneath(place->root_fd, "tmp", place->trusted);
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "perf-%d.map", (int)place->pid);
	snprintf(ret_path, size, "/tmp/%s", name);
	if (dir < 0)
		return dir;
	fd = place->trusted ? 0 : check_folder(dir, place);
	if (fd)
		return fd;
	fd = create(dir, name);
	if (fd != -EEXIST || !is_ours(dir, name, first_line))
		return fd;
	/* If another process creates a file in between, we refuse it instead of writing to it. */
	return unlinkat(dir, name, 0) ? -errno : create(dir, name);
}
