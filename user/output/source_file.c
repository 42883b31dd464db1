/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/source_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/worker/keeper.h"

#define MAX_LINKS 40

/* Permission bits of one class, as in "others". */
enum { MAY_ENTER = 1, MAY_READ = 4 };

static bool is_member(const struct identity *who, gid_t gid)
{
	if (who->gid == gid)
		return true;
	for (unsigned i = 0; i < who->group_cnt; i++) {
		if (who->groups[i] == gid)
			return true;
	}
	return false;
}

/* Decides as the kernel does, but ignores access control lists, which may allow more. */
static bool may(const struct identity *who, const struct stat *st, unsigned bit)
{
	if (!who)
		return st->st_mode & bit;
	if (!who->uid)
		return true;
	if (who->uid == st->st_uid)
		return st->st_mode & bit << 6;
	if (is_member(who, st->st_gid))
		return st->st_mode & bit << 3;
	return st->st_mode & bit;
}

/* ---- the way there ---------------------------------------------------------------------------- */

struct walk {
	const struct identity *who;
	int fd; /* O_PATH of the current folder */
	char rest[PATH_MAX]; /* of the path, still to walk */
	unsigned links;
};

static int go_to_root(struct walk *w)
{
	cleanup_close_(&w->fd);
	w->fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
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
	if (!may(w->who, &st, MAY_ENTER))
		return -EACCES;
	strcpy(rest, *end ? end + 1 : end);
	*end = '\0';
	fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
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
	return may(w->who, &st, MAY_READ) ? 1 : -EACCES;
}

/* Opens the very file that was checked. */
static int open_it(int path_fd)
{
	char path[64];
	struct stat st;
	int fd;

	if (fstat(path_fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size > SOURCE_FILE_MAX)
		return -EFBIG;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Takes the descriptor, or error. What the file grows by meanwhile is ignored. */
static int read_it(char **ret, int opened)
{
	cleanup_close int fd = opened;
	cleanup_free char *text = NULL;
	struct stat st;
	size_t len = 0, size;
	ssize_t n = 1;

	if (fd < 0)
		return take_fd(&fd);
	if (fstat(fd, &st))
		return -errno;
	size = (size_t)st.st_size;
	if (size > SOURCE_FILE_MAX)
		return -EFBIG;
	text = malloc(size + 1);
	if (!text)
		return -ENOMEM;
	while (len < size && (n = read(fd, text + len, size - len)) > 0)
		len += (size_t)n;
	if (n < 0)
		return -errno;
	text[len] = '\0';
	*ret = take_ptr(&text);
	return 0;
}

static int walk_to(struct walk *w, const char *path)
{
	char here[PATH_MAX] = "";
	int n, err = go_to_root(w);

	if (path[0] != '/' && !getcwd(here, sizeof(here)))
		return -errno;
	n = snprintf(w->rest, sizeof(w->rest), "%s/%s", here, path);
	if (!err && n >= (int)sizeof(w->rest))
		err = -ENAMETOOLONG;
	while (!err)
		err = step(w);
	return err < 0 ? err : 0;
}

int source_file_open(const char *path, const struct identity *who)
{
	struct walk *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->who = who;
	w->fd = -1;
	err = walk_to(w, path);
	if (!err)
		err = open_it(w->fd);
	cleanup_close_(&w->fd);
	free(w);
	return err;
}

static int open_below(const char *folder, const char *path)
{
	const struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				      .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	cleanup_close int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_close int fd = -1;

	path += strspn(path, "/");
	if (dir < 0 || !*path)
		return -ENOENT;
	fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	return fd < 0 ? -errno : open_it(fd);
}

/* The path below the folder that it is in anyway; NULL: it is not. */
static const char *rest_below(const char *folder, const char *path)
{
	char *whole = realpath(folder, NULL);
	size_t len = whole ? strlen(whole) : 0;
	bool below = len && !strncmp(path, whole, len) && (len == 1 || path[len] == '/');

	free(whole);
	return below ? path + len : NULL;
}

int source_file_open_below(const char *folder, const char *path)
{
	const char *rest = rest_below(folder, path), *base = strrchr(path, '/');
	int fd = rest ? open_below(folder, rest) : -ENOENT;

	if (fd < 0)
		fd = open_below(folder, path);
	if (fd < 0 && base)
		fd = open_below(folder, base + 1);
	return fd;
}

/* ---- reading ---------------------------------------------------------------------------------- */

static int ask_keeper(const char *path, const struct identity *who, const char *folder)
{
	struct keeper_request request = { .job = folder ? KEEPER_SOURCE_BELOW : KEEPER_SOURCE };
	int fd, err;

	if (strlen(path) >= sizeof(request.path) ||
	    (folder && strlen(folder) >= sizeof(request.folder)))
		return -ENAMETOOLONG;
	strcpy(request.path, path);
	strcpy(request.folder, folder ? folder : "");
	if (who) {
		_Static_assert(sizeof(*who) <= sizeof(request.more), "an identity fits");
		memcpy(request.more, who, sizeof(*who));
		request.more_size = sizeof(*who);
	}
	err = keeper_ask(&request, -1, NULL, &fd);
	return err ? err : fd;
}

int source_file_read(char **ret, const char *path, const struct identity *who)
{
	return read_it(ret, keeper_is_there() ? ask_keeper(path, who, NULL) :
						source_file_open(path, who));
}

int source_file_read_below(char **ret, const char *folder, const char *path)
{
	return read_it(ret, keeper_is_there() ? ask_keeper(path, NULL, folder) :
						source_file_open_below(folder, path));
}
