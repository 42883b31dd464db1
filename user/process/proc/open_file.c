/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/proc/open_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/worker/keeper.h"

/* f_type of file systems that have a server (linux/magic.h lacks some). */
static const unsigned remote_types[] = {
	0x65735546, /* FUSE */
	0x6969, /* NFS */
	0xff534d42, 0xfe534d42, 0x517b, /* CIFS, SMB2, SMB */
	0x01021997, /* 9P */
	0x00c36400, /* Ceph */
	0x5346414f, /* AFS */
	0x6b414653, /* kAFS */
	0x73757245, /* Coda */
	0x19830326, /* BeeGFS */
	0x0bd00bd0, /* Lustre */
};

/* Takes fd over and returns it, or -errno. */
static int only_regular(int fd, struct stat *st)
{
	int r = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, st))
		r = -errno;
	else if (!S_ISREG(st->st_mode))
		r = -ENOEXEC;
	if (!r)
		return fd;
	close(fd);
	return r;
}

int open_file_below(int root, const char *name, struct stat *st)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	return only_regular((int)syscall(SYS_openat2, root, name, &how, sizeof(how)), st);
}

int open_file_at(int dir, const char *name, struct stat *st)
{
	return only_regular(openat(dir, name, O_PATH | O_CLOEXEC), st);
}

int open_file_read(int fd)
{
	char path[32];
	int opened;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return opened >= 0 ? opened : -errno;
}

int open_file_named(const char *path)
{
	struct stat st;
	cleanup_close int fd = -1;

	if (keeper_is_there())
		return keeper_open(KEEPER_OBJECT, path);
	fd = open_file_at(AT_FDCWD, path, &st);
	return fd < 0 ? take_fd(&fd) : open_file_read(fd);
}

bool open_file_is_remote(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return true;
	for (size_t i = 0; i < sizeof(remote_types) / sizeof(remote_types[0]); i++)
		if ((unsigned)fs.f_type == remote_types[i])
			return true;
	return false;
}
