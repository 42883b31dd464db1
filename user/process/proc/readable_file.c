/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/proc/readable_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "process/proc/open_file.h"
#include "base/data/cleanup.h"

#define MAX_LINKS 40

/* Permission bits of one class, as in "others". */
enum { MAY_ENTER = 1, MAY_READ = 4 };

struct walk {
	const struct file_reader *const *readers;
	unsigned reader_cnt;
	int root, fd; /* O_PATH of the current folder */
	char rest[PATH_MAX]; /* of the path, still to walk */
	unsigned links;
};

static bool is_member(const struct file_reader *who, gid_t gid)
{
	if (who->gid == gid)
		return true;
	for (unsigned i = 0; i < who->group_cnt; i++) {
		if (who->groups[i] == gid)
			return true;
	}
	return false;
}

/* An access control list? Then the group's bits are its mask, and others may be shut out by name. In doubt there is one. */
static bool has_acl(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return getxattr(path, "system.posix_acl_access", NULL, 0) >= 0 ||
	       (errno != ENODATA && errno != EOPNOTSUPP);
}

/* Decides as the kernel does, without access control lists: what has one is its owner's only. fd: the file's. */
static bool may(const struct file_reader *who, int fd, const struct stat *st, unsigned bit)
{
	if (who && !who->uid)
		return true;
	if (who && who->uid == st->st_uid)
		return st->st_mode & bit << 6;
	if (has_acl(fd))
		return false;
	if (!who)
		return st->st_mode & bit;
	if (is_member(who, st->st_gid))
		return st->st_mode & bit << 3;
	return st->st_mode & bit;
}

static bool all_may(const struct walk *w, const struct stat *st, unsigned bit)
{
	for (unsigned i = 0; i < w->reader_cnt; i++)
		if (!may(w->readers[i], w->fd, st, bit))
			return false;
	return true;
}

static int go_to_root(struct walk *w)
{
	cleanup_close_(&w->fd);
	w->fd = fcntl(w->root, F_DUPFD_CLOEXEC, 3);
	return w->fd < 0 ? -errno : 0;
}

/* Follows a link by its text, so that a magic link of /proc leads nowhere. */
static int follow_link(struct walk *w, int link_fd, const char *rest)
{
	char target[PATH_MAX], whole[PATH_MAX];
	ssize_t n = readlinkat(link_fd, "", target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	if (++w->links > MAX_LINKS)
		return -ELOOP;
	target[n] = '\0';
	if (snprintf(whole, sizeof(whole), "%s/%s", target, rest) >= (int)sizeof(whole))
		return -ENAMETOOLONG;
	memcpy(w->rest, whole, sizeof(whole));
	return target[0] == '/' ? go_to_root(w) : 0;
}

/* Nothing is above the root. */
static bool is_root(const struct walk *w, const struct stat *st)
{
	struct stat root;

	return !fstat(w->root, &root) && root.st_dev == st->st_dev && root.st_ino == st->st_ino;
}

/* Takes one step. Returns 0 to go on, 1 on arrival at a file, or -errno. */
static int step(struct walk *w)
{
	char *name = w->rest + strspn(w->rest, "/"), *end = name + strcspn(name, "/");
	char rest[PATH_MAX];
	cleanup_close int fd = -1;
	struct stat st;

	if (!*name)
		return -EISDIR;
	/* The next name must be looked up in a folder. */
	if (fstat(w->fd, &st) || !S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (!all_may(w, &st, MAY_ENTER))
		return -EACCES;
	strcpy(rest, *end ? end + 1 : end);
	*end = '\0';
	fd = openat(w->fd, !strcmp(name, "..") && is_root(w, &st) ? "." : name,
		    O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (S_ISLNK(st.st_mode))
		return follow_link(w, fd, rest);
	cleanup_close_(&w->fd);
	w->fd = take_fd(&fd);
	strcpy(w->rest, rest);
	if (S_ISDIR(st.st_mode))
		return 0;
	if (rest[strspn(rest, "/")])
		return -ENOTDIR;
	return all_may(w, &st, MAY_READ) ? 1 : -EACCES;
}

static int walk_to(struct walk *w, const char *path)
{
	int err = go_to_root(w);

	if (!err && snprintf(w->rest, sizeof(w->rest), "%s", path) >= (int)sizeof(w->rest))
		err = -ENAMETOOLONG;
	while (!err)
		err = step(w);
	return err < 0 ? err : 0;
}

int readable_file_open(int root, const char *path, const struct file_reader *const *readers,
		       unsigned cnt, struct stat *st)
{
	struct walk *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->readers = readers;
	w->reader_cnt = cnt;
	w->root = root;
	w->fd = -1;
	err = walk_to(w, path);
	if (!err && fstat(w->fd, st))
		err = -errno;
	if (!err && !S_ISREG(st->st_mode))
		err = -EINVAL;
	/* The very file that was checked. */
	if (!err)
		err = open_file_read(w->fd);
	cleanup_close_(&w->fd);
	free(w);
	return err;
}
