/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/dso_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/owner.h"

#define HEX_SIZE (2 * DSO_BUILD_ID_SIZE + 1)
/* Of the build ID in the file's name: enough to tell recordings apart. */
#define NAME_HEX 8
/* What a file is called until it is whole. */
#define PART ".part"

static void to_hex(char *hex, const __u8 *id, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sprintf(hex + 2 * i, "%02x", id[i]);
}

/* snprintf() with -ENAMETOOLONG for what does not fit. */
static int __attribute__((format(printf, 3, 4)))
set_path(char *path, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(path, size, fmt, ap);
	va_end(ap);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* perf's text output is split at blanks, and the name of a DSO at ")". */
static bool is_presentable(const char *path)
{
	for (; *path; path++) {
		if (*path <= ' ' || *path == 0x7f || *path == ')' || *path == '(')
			return false;
	}
	return true;
}

/* "python-1a2b3c4d.so", or what a krait that was killed has left of one. */
static bool is_ours(const char *name)
{
	size_t start = strlen("python-") + NAME_HEX;

	return !strncmp(name, "python-", strlen("python-")) && strlen(name) > start &&
	       (!strcmp(name + start, ".so") || !strcmp(name + start, ".so" PART));
}

/* DSOs of recordings that had this file before; the cache still has them. */
static void remove_stale(const char *folder)
{
	cleanup_closedir DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (is_ours(entry->d_name))
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
}

static int choose_beside(char *folder, size_t size, int fd)
{
	char link[64], path[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_nlink)
		return -ENOENT;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return -errno;
	path[n] = '\0';
	if (path[0] != '/' || !is_presentable(path))
		return -EINVAL;
	return set_path(folder, size, "%s.krait", path);
}

static int choose_cache(char *folder, size_t size)
{
	char home[PATH_MAX];
	int err = owner_home(home, sizeof(home));

	if (!err)
		err = set_path(folder, size, "%s/.cache/krait", home);
	if (!err && is_presentable(folder))
		return 0;
	return set_path(folder, size, "/var/tmp/krait-%u", (unsigned)geteuid());
}

int dso_store_choose(char *folder, size_t size, int fd)
{
	int err;

	if (!choose_beside(folder, size, fd) && !owner_make_folders(folder)) {
		remove_stale(folder);
		return 0;
	}
	err = choose_cache(folder, size);
	return err ? err : owner_make_folders(folder);
}

int dso_store_path(char *path, size_t size, const char *folder, const __u8 *build_id)
{
	char hex[HEX_SIZE];

	to_hex(hex, build_id, DSO_BUILD_ID_SIZE);
	return set_path(path, size, "%s/python-%.*s.so", folder, NAME_HEX, hex);
}

int dso_store_write(const char *path, const struct dso *d, __u32 generation,
		    const struct profile *p, const char *notes)
{
	cleanup_close int fd = -1;
	char part[PATH_MAX];
	int err = set_path(part, sizeof(part), "%s" PART, path);

	if (err)
		return err;
	unlink(part);
	fd = open(part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	owner_give(fd);
	err = dso__write(d, generation, p, notes, fd);
	if (!err && rename(part, path))
		err = -errno;
	if (err)
		unlink(part);
	return err;
}

static int cache_folder(char *folder, size_t size)
{
	const char *given = getenv("PERF_BUILDID_DIR");
	char home[PATH_MAX];
	int err;

	if (given && *given)
		return set_path(folder, size, "%s", given);
	err = owner_home(home, sizeof(home));
	return err ? err : set_path(folder, size, "%s/.debug", home);
}

static int copy_file(const char *from, const char *to)
{
	cleanup_close int in = open(from, O_RDONLY | O_CLOEXEC);
	cleanup_close int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	char buf[65536];
	ssize_t n;

	if (in < 0 || out < 0)
		return -errno;
	owner_give(out);
	while ((n = read(in, buf, sizeof(buf))) > 0) {
		if (write(out, buf, (size_t)n) != n)
			return errno ? -errno : -EIO;
	}
	return n ? -errno : 0;
}

/* DIR/PATH/ID/elf, and the link DIR/.build-id/ID[0:2]/ID[2:] that points to its folder. */
int dso_store_cache(const char *path, const __u8 *build_id)
{
	char folder[PATH_MAX], object[PATH_MAX], elf[PATH_MAX], link_path[PATH_MAX];
	char target[PATH_MAX], hex[HEX_SIZE];
	int err = cache_folder(folder, sizeof(folder));

	to_hex(hex, build_id, DSO_BUILD_ID_SIZE);
	if (!err)
		err = set_path(object, sizeof(object), "%s%s/%s", folder, path, hex);
	if (!err)
		err = owner_make_folders(object);
	if (!err)
		err = set_path(elf, sizeof(elf), "%s/elf", object);
	if (!err && link(path, elf))
		err = copy_file(path, elf);
	if (!err)
		err = set_path(link_path, sizeof(link_path), "%s/.build-id/%.2s", folder, hex);
	if (!err)
		err = owner_make_folders(link_path);
	if (!err)
		err = set_path(link_path, sizeof(link_path), "%s/.build-id/%.2s/%s", folder, hex,
			       hex + 2);
	if (!err)
		err = set_path(target, sizeof(target), "../..%s/%s", path, hex);
	if (!err && symlink(target, link_path))
		err = -errno;
	return err;
}

int dso_store_cached_path(char *path, size_t size, const __u8 *build_id, size_t build_id_size)
{
	char folder[PATH_MAX], hex[HEX_SIZE];
	int err;

	if (build_id_size < 2 || build_id_size > DSO_BUILD_ID_SIZE)
		return -EINVAL;
	err = cache_folder(folder, sizeof(folder));
	to_hex(hex, build_id, build_id_size);
	return err ? err : set_path(path, size, "%s/.build-id/%.2s/%s/elf", folder, hex, hex + 2);
}
