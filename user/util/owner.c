/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/log.h"

static bool behind_sudo(uid_t *ret_uid, gid_t *ret_gid)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");

	if (geteuid() || !uid || !gid)
		return false;
	*ret_uid = (uid_t)strtoul(uid, NULL, 10);
	*ret_gid = (gid_t)strtoul(gid, NULL, 10);
	return true;
}

void owner_give(int fd)
{
	uid_t uid;
	gid_t gid;

	if (behind_sudo(&uid, &gid) && fchown(fd, uid, gid))
		log_debug("owner", "chown to the user behind sudo: %s", strerror(errno));
}

static int make_folder(const char *path)
{
	cleanup_close int fd = -1;

	if (mkdir(path, 0777))
		return errno == EEXIST ? 0 : -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		owner_give(fd);
	return 0;
}

int owner_make_folders(const char *path)
{
	char part[PATH_MAX];
	size_t len = strlen(path);
	int err = 0;

	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i])
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		/* What is above may be there and not be ours to make. */
		err = make_folder(part);
	}
	return err;
}

int owner_home(char *buf, size_t size)
{
	const char *home = getenv("HOME");
	struct passwd *pw = NULL;
	uid_t uid;
	gid_t gid;
	int n;

	if (behind_sudo(&uid, &gid))
		pw = getpwuid(uid);
	else if (!home || *home != '/')
		pw = getpwuid(geteuid());
	if (pw)
		home = pw->pw_dir;
	if (!home || *home != '/')
		return -ENOENT;
	n = snprintf(buf, size, "%s", home);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}
