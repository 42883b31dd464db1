/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/dso/dso_clean.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/dso/dso_store.h"
#include "base/data/cleanup.h"
#include "base/files/sudo_user.h"

/* A recording never makes a deeper path. */
#define DEPTH_MAX 64

struct walk {
	struct dso_cleaned *cleaned;
	char root[PATH_MAX]; /* of the cache */
	char name[PATH_MAX]; /* relative to root, current position: the original's name */
	int err; /* the first error */
};

static void note_error(struct walk *w, int err)
{
	if (err && err != -ENOENT && !w->err)
		w->err = err;
}

static DIR *open_dir(int at_fd, const char *name)
{
	int fd = openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

static int remove_file(struct dso_cleaned *c, int at_fd, const char *name)
{
	struct stat st;

	if (fstatat(at_fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	if (!c->dry && unlinkat(at_fd, name, 0))
		return -errno;
	c->files++;
	c->bytes += (__u64)st.st_blocks * 512;
	return 0;
}

static bool is_build_id(const char *name)
{
	size_t len = strlen(name);

	return len >= 8 && len <= 2 * DSO_BUILD_ID_SIZE && strspn(name, "0123456789abcdef") == len;
}

/* Removes the link that leads from the build ID to its folder. */
static void remove_link(struct walk *w, const char *id)
{
	char path[PATH_MAX];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s", w->root, id, id + 2);

	if (w->cleaned->dry || n < 0 || (size_t)n >= sizeof(path) || lstat(path, &st) ||
	    !S_ISLNK(st.st_mode) || unlink(path))
		return;
	path[strlen(path) - strlen(id + 2) - 1] = '\0';
	rmdir(path); /* only if it is empty now */
}

/* DIR/NAME: a folder for each build ID, containing "elf". */
static void remove_object(struct walk *w, int at_fd, const char *name)
{
	cleanup_closedir DIR *dir = open_dir(at_fd, name);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		cleanup_close int fd = -1;
		int err;

		if (!is_build_id(entry->d_name))
			continue;
		fd = openat(dirfd(dir), entry->d_name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		err = fd < 0 ? -errno : remove_file(w->cleaned, fd, "elf");
		note_error(w, err);
		if (err)
			continue;
		remove_link(w, entry->d_name);
		if (!w->cleaned->dry)
			unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
	}
	if (!w->cleaned->dry)
		unlinkat(at_fd, name, AT_REMOVEDIR);
}

static void walk_dir(struct walk *w, int at_fd, const char *name, unsigned depth);

static void look_at(struct walk *w, DIR *dir, const char *name, unsigned depth)
{
	size_t len = strlen(w->name);
	struct stat st;
	int n;

	if (!strcmp(name, ".") || !strcmp(name, "..") || (!depth && !strcmp(name, ".build-id")))
		return;
	if (fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(st.st_mode))
		return;
	n = snprintf(w->name + len, sizeof(w->name) - len, "/%s", name);
	if (n > 0 && (size_t)n < sizeof(w->name) - len) {
		if (!dso_store_is_ours(name))
			walk_dir(w, dirfd(dir), name, depth + 1);
		else if (lstat(w->name, &st) && errno == ENOENT)
			remove_object(w, dirfd(dir), name);
	}
	w->name[len] = '\0';
}

static void walk_dir(struct walk *w, int at_fd, const char *name, unsigned depth)
{
	cleanup_closedir DIR *dir = depth < DEPTH_MAX ? open_dir(at_fd, name) : NULL;
	__u64 before = w->cleaned->files;
	struct dirent *entry;

	if (!dir) {
		note_error(w, depth < DEPTH_MAX ? -errno : 0);
		return;
	}
	while ((entry = readdir(dir)))
		look_at(w, dir, entry->d_name, depth);
	/* If krait's were the last ones. */
	if (depth && !w->cleaned->dry && w->cleaned->files != before)
		unlinkat(at_fd, name, AT_REMOVEDIR);
}

int dso_clean_cache(struct dso_cleaned *c)
{
	cleanup_sudo_user struct sudo_user_scope scope;
	struct walk w = { .cleaned = c };
	int err = sudo_user_enter(&scope);

	if (!err)
		err = dso_store_cache_folder(w.root, sizeof(w.root));
	if (err)
		return err;
	walk_dir(&w, AT_FDCWD, w.root, 0);
	return w.err;
}

int dso_clean_capture(struct dso_cleaned *c, const char *capture)
{
	cleanup_sudo_user struct sudo_user_scope scope;
	cleanup_closedir DIR *dir = NULL;
	char folder[PATH_MAX];
	struct dirent *entry;
	struct stat st;
	int err = sudo_user_enter(&scope), n;

	if (err)
		return err;
	if (!lstat(capture, &st))
		return -EEXIST;
	n = snprintf(folder, sizeof(folder), "%s.krait", capture);
	if (n < 0 || (size_t)n >= sizeof(folder))
		return -ENAMETOOLONG;
	dir = open_dir(AT_FDCWD, folder);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		if (dso_store_is_ours(entry->d_name) && !err)
			err = remove_file(c, dirfd(dir), entry->d_name);
		else if (dso_store_is_sources(entry->d_name) && !err && !c->dry)
			err = dso_store_remove_sources(dirfd(dir), entry->d_name);
	}
	if (!c->dry)
		rmdir(folder);
	return err;
}
