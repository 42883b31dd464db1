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

#include "process/proc/readable_file.h"
#include "base/data/cleanup.h"
#include "base/worker/keeper.h"

/* Opens the file of an O_PATH descriptor. */
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

int source_file_open(const char *path, const struct identity *who)
{
	const struct file_reader ids = { who ? who->uid : 0, who ? who->gid : 0,
					 who ? who->group_cnt : 0, who ? who->groups : NULL };
	const struct file_reader *reader = who ? &ids : NULL;
	cleanup_close int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char here[PATH_MAX] = "", whole[PATH_MAX];
	struct stat st;
	int fd;

	if (root < 0 || (path[0] != '/' && !getcwd(here, sizeof(here))))
		return -errno;
	if (snprintf(whole, sizeof(whole), "%s/%s", here, path) >= (int)sizeof(whole))
		return -ENAMETOOLONG;
	fd = readable_file_open(root, whole, &reader, 1, &st);
	if (fd < 0 || st.st_size <= SOURCE_FILE_MAX)
		return fd;
	close(fd);
	return -EFBIG;
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
