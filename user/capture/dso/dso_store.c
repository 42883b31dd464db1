/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/dso/dso_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/text/stream.h"
#include "profile/sources.h"
#include "base/files/sudo_user.h"
#include "base/worker/keeper.h"

#define HEX_SIZE (2 * DSO_BUILD_ID_SIZE + 1)
/* Digits of the build ID in the file's name: enough to tell recordings apart. */
#define NAME_HEX 8
/* Suffix of a file's name until it is complete. */
#define PART ".part"
/* Suffix of the folder with source files; how many, and how deep. */
#define SOURCES ".source"
#define SOURCES_FILES_MAX 4096
#define SOURCES_DEPTH_MAX 64
/* Bytes of all of them. Lines that are not kept are empty ones there, which no quota counts. */
#define SOURCES_BYTES_MAX (4ULL * SOURCES_MAX)

static void to_hex(char *hex, const __u8 *id, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sprintf(hex + 2 * i, "%02x", id[i]);
}

/* snprintf() that returns -ENAMETOOLONG if the text does not fit. */
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

/* Tools split perf's text output at blanks, and the name of a DSO at ")". */
static bool is_presentable(const char *path)
{
	for (; *path; path++) {
		if (*path <= ' ' || *path == 0x7f || *path == ')' || *path == '(')
			return false;
	}
	return true;
}

/* "python-1a2b3c4d.so", or what a killed krait has left of one. */
bool dso_store_is_ours(const char *name)
{
	size_t start = strlen("python-") + NAME_HEX;

	return !strncmp(name, "python-", strlen("python-")) && strlen(name) > start &&
	       (!strcmp(name + start, ".so") || !strcmp(name + start, ".so" PART));
}

/* "python-1a2b3c4d.source" */
bool dso_store_is_sources(const char *name)
{
	size_t start = strlen("python-") + NAME_HEX;

	return !strncmp(name, "python-", strlen("python-")) && strlen(name) > start &&
	       !strcmp(name + start, SOURCES);
}

/* ---- with a keeper ---------------------------------------------------------------------------- */

static int ask_keeper(const struct dso_store *s, enum keeper_job job, const __u8 *build_id,
		      int *ret_fd)
{
	struct keeper_request request = { .job = job, .number = s->number };

	if (build_id) {
		request.more_size = DSO_BUILD_ID_SIZE;
		memcpy(request.more, build_id, DSO_BUILD_ID_SIZE);
	}
	return keeper_ask(&request, -1, NULL, ret_fd);
}

/* fd is an output's (base/files/output_file.h), which the keeper has, too. */
static int choose_by_keeper(struct dso_store *s, int fd, const char *path)
{
	struct keeper_request request = { .job = KEEPER_STORE };
	struct keeper_answer answer;
	int err;

	if (path)
		snprintf(request.path, sizeof(request.path), "%s", path);
	err = keeper_ask(&request, fd, &answer, NULL);
	if (err)
		return err;
	s->number = answer.number;
	s->made = true;
	return set_path(s->name, sizeof(s->name), "%s", answer.name);
}

/* ---- folders ---------------------------------------------------------------------------------- */

/*
 * Opens a folder of the caller's or ours, which is not a link to one. Whoever may write in the folder
 * around it can put another one, or a link, in its place at any time: so what goes into it goes
 * through the descriptor.
 */
static int open_folder(const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	return st.st_uid == sudo_user_uid() || st.st_uid == geteuid() ? take_fd(&fd) : -EPERM;
}

/* Opens it; an existing one is accepted. */
static int make_folder(const char *path)
{
	return mkdir(path, 0700) && errno != EEXIST ? -errno : open_folder(path);
}

/* Whatever is in it: krait has made the folder, and nothing is followed out of it. */
static int remove_tree(int at_fd, const char *name, unsigned depth)
{
	cleanup_closedir DIR *dir = NULL;
	struct dirent *entry;
	int fd, err = 0;

	if (!unlinkat(at_fd, name, 0))
		return 0;
	fd = depth <= SOURCES_DEPTH_MAX ?
		     openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) :
		     -1;
	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			err = remove_tree(dirfd(dir), entry->d_name, depth + 1) ?: err;
	return unlinkat(at_fd, name, AT_REMOVEDIR) ? -errno : err;
}

int dso_store_remove_sources(int at_fd, const char *name)
{
	return remove_tree(at_fd, name, 0);
}

/* Removes krait's DSOs in a folder, or moves them to another one. Both are open. */
static int empty_open(int from_fd, int to_fd)
{
	cleanup_close int fd = openat(from_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_closedir DIR *dir = NULL;
	struct dirent *entry;
	int err = 0;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	take_fd(&fd);
	while ((entry = readdir(dir))) {
		const char *name = entry->d_name;
		int from = dirfd(dir);

		if (dso_store_is_sources(name) && to_fd < 0)
			err = remove_tree(from, name, 0) ?: err;
		else if ((dso_store_is_ours(name) || dso_store_is_sources(name)) &&
			 (to_fd < 0 ? unlinkat(from, name, 0) : renameat(from, name, to_fd, name)))
			err = -errno;
	}
	return err;
}

static void empty_folder(const char *path)
{
	cleanup_close int fd = open_folder(path);

	if (fd >= 0)
		(void)empty_open(fd, -1);
}

/* The name of an open file. */
static int find_name(char *path, size_t size, int fd)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, size - 1);
	if (n <= 0)
		return -errno;
	path[n] = '\0';
	return 0;
}

/* If something else than a folder of the caller's or ours exists there, it is in the way. */
static int choose_beside(struct dso_store *s, int fd, const char *path)
{
	char name[PATH_MAX];
	struct stat st;
	int err;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || (!path && !st.st_nlink))
		return -ENOENT;
	err = path ? set_path(name, sizeof(name), "%s", path) : find_name(name, sizeof(name), fd);
	if (err)
		return err;
	if (name[0] != '/' || !is_presentable(name))
		return -EINVAL;
	err = set_path(s->name, sizeof(s->name), "%s.krait", name);
	if (!err)
		err = set_path(s->folder, sizeof(s->folder), "%s%s", s->name,
			       path ? ".XXXXXX" : "");
	if (!err && !lstat(s->name, &st) && !S_ISDIR(st.st_mode))
		err = -ENOTDIR;
	else if (!err && !lstat(s->name, &st) && st.st_uid != sudo_user_uid() &&
		 st.st_uid != geteuid())
		err = -EPERM;
	if (!err && !path) {
		s->fd = make_folder(s->folder);
		err = s->fd < 0 ? s->fd : 0;
	}
	s->unpublished = !err && path;
	s->made = !s->unpublished;
	return err;
}

/* In /var/tmp anybody may have been faster. */
static int choose_shared(char *folder, size_t size)
{
	int err = set_path(folder, size, "/var/tmp/krait-%u", (unsigned)sudo_user_uid());
	cleanup_close int fd = err ? err : make_folder(folder);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) || st.st_uid != sudo_user_uid() || st.st_mode & 022)
		return -EPERM;
	return take_fd(&fd);
}

/* Returns a descriptor of the folder, or -errno. */
static int choose_cache(char *folder, size_t size)
{
	char home[PATH_MAX];
	int fd, err = sudo_user_home(home, sizeof(home));

	if (!err)
		err = set_path(folder, size, "%s/.cache/krait", home);
	if (!err && is_presentable(folder) && !sudo_user_make_folders(home, folder) &&
	    (fd = open_folder(folder)) >= 0)
		return fd;
	return choose_shared(folder, size);
}

int dso_store_choose(struct dso_store *s, int fd, const char *path)
{
	cleanup_sudo_user struct sudo_user_scope scope;
	int err = sudo_user_enter(&scope);

	*s = (struct dso_store){ .fd = -1 };
	if (keeper_is_there())
		return choose_by_keeper(s, fd, path);
	if (err)
		return err;
	if (!choose_beside(s, fd, path)) {
		/* DSOs of earlier recordings with this file name; the cache still has them. */
		if (s->made)
			(void)empty_open(s->fd, -1);
		return 0;
	}
	s->unpublished = false;
	s->made = true;
	cleanup_close_(&s->fd);
	s->fd = choose_cache(s->folder, sizeof(s->folder));
	return s->fd < 0 ? s->fd : set_path(s->name, sizeof(s->name), "%s", s->folder);
}

int dso_store_make(struct dso_store *s)
{
	cleanup_sudo_user struct sudo_user_scope scope;
	int err = sudo_user_enter(&scope);

	if (err || s->made)
		return err;
	if (!mkdtemp(s->folder))
		return -errno;
	s->made = true;
	s->fd = open_folder(s->folder);
	return s->fd < 0 ? s->fd : 0;
}

/* Moves away what an earlier capture with this name has left. */
static int move_old(const char *name, const char *kept_path)
{
	char kept[PATH_MAX];
	int err;

	if (!kept_path) {
		empty_folder(name);
		return 0;
	}
	err = set_path(kept, sizeof(kept), "%s.krait", kept_path);
	if (err)
		return err;
	/* Even if no capture has a folder now: the previously kept one has lost its capture. */
	empty_folder(kept);
	return rename(name, kept) && errno != ENOENT ? -errno : 0;
}

int dso_store_publish(struct dso_store *s, const char *kept_path)
{
	cleanup_sudo_user struct sudo_user_scope scope;
	cleanup_close int fd = -1;
	int err = sudo_user_enter(&scope);

	if (s->number)
		return ask_keeper(s, KEEPER_STORE_PUBLISH, NULL, NULL);
	if (err || !s->unpublished || !s->made)
		return err;
	err = move_old(s->name, kept_path);
	if (!err && rename(s->folder, s->name)) {
		/* The folder contains files that are not krait's. */
		if (errno != ENOTEMPTY && errno != EEXIST)
			return -errno;
		fd = open_folder(s->name);
		err = fd < 0 ? fd : empty_open(s->fd, fd);
		rmdir(s->folder);
		if (!err) {
			cleanup_close_(&s->fd);
			s->fd = take_fd(&fd);
		}
	}
	if (!err) {
		strcpy(s->folder, s->name);
		s->unpublished = false;
	}
	return err;
}

void dso_store_discard(struct dso_store *s)
{
	cleanup_sudo_user struct sudo_user_scope scope = { 0 };

	if (s->number)
		(void)ask_keeper(s, KEEPER_STORE_DISCARD, NULL, NULL);
	if (!sudo_user_enter(&scope) && s->unpublished && s->made && s->fd >= 0) {
		(void)empty_open(s->fd, -1);
		rmdir(s->folder);
	}
	cleanup_close_(&s->fd);
	s->unpublished = false;
}

/* ---- files ------------------------------------------------------------------------------------ */

int dso_store_path(char *path, size_t size, const char *folder, const __u8 *build_id)
{
	char hex[HEX_SIZE];

	to_hex(hex, build_id, DSO_BUILD_ID_SIZE);
	return set_path(path, size, "%s/python-%.*s.so", folder, NAME_HEX, hex);
}

/* Enough for a name, with its suffix. */
#define FILE_NAME_SIZE 64

static void set_name(char name[FILE_NAME_SIZE], const __u8 *build_id, const char *suffix)
{
	char hex[HEX_SIZE];

	to_hex(hex, build_id, DSO_BUILD_ID_SIZE);
	snprintf(name, FILE_NAME_SIZE, "python-%.*s.so%s", NAME_HEX, hex, suffix);
}

static int begin_part(const struct dso_store *s, const __u8 *build_id)
{
	char part[FILE_NAME_SIZE];
	int fd;

	if (s->number) {
		int err = ask_keeper(s, KEEPER_STORE_PART, build_id, &fd);

		return err ? err : fd;
	}
	set_name(part, build_id, PART);
	unlinkat(s->fd, part, 0);
	fd = openat(s->fd, part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

int dso_store_begin_part(struct dso_store *s, const __u8 *build_id)
{
	cleanup_sudo_user struct sudo_user_scope scope;
	int err = dso_store_make(s);

	if (!err)
		err = sudo_user_enter(&scope);
	return err ? err : begin_part(s, build_id);
}

int dso_store_end_part(const struct dso_store *s, const __u8 *build_id, int err)
{
	char name[FILE_NAME_SIZE], part[FILE_NAME_SIZE];

	if (s->number) {
		int result = ask_keeper(s, err ? KEEPER_STORE_PART_FAILED : KEEPER_STORE_PART_DONE,
					build_id, NULL);

		return err ? err : result;
	}
	set_name(name, build_id, "");
	set_name(part, build_id, PART);
	if (!err && renameat(s->fd, part, s->fd, name))
		err = -errno;
	if (err)
		unlinkat(s->fd, part, 0);
	return err;
}

int dso_store_write(const struct dso_store *s, const struct dso *d, __u32 generation,
		    const struct dict *dict, const char *notes)
{
	const __u8 *build_id = dso__build_id(d, generation);
	cleanup_sudo_user struct sudo_user_scope scope;
	cleanup_close int fd = -1;
	int err = sudo_user_enter(&scope);

	if (err)
		return err;
	fd = begin_part(s, build_id);
	if (fd < 0)
		return fd;
	return dso_store_end_part(s, build_id, dso__write(d, generation, dict, notes, fd));
}

/* ---- source files ----------------------------------------------------------------------------- */

int dso_store_sources_path(char *path, size_t size, const struct dso_store *s, const __u8 *build_id)
{
	char name[FILE_NAME_SIZE];

	set_name(name, build_id, "");
	return set_path(path, size, "%s/%.*s" SOURCES, s->name, (int)strlen("python-") + NAME_HEX,
			name);
}

/* A new folder, or the one that is there. */
static int enter_folder(int at_fd, const char *name)
{
	int fd;

	if (mkdirat(at_fd, name, 0700) && errno != EEXIST)
		return -errno;
	fd = openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Makes the file of a path of the target's below a folder. Returns a descriptor or -errno. */
static int make_below(int folder_fd, const char *path)
{
	cleanup_close int at_fd = fcntl(folder_fd, F_DUPFD_CLOEXEC, 3);
	unsigned depth = 0;

	for (;;) {
		const char *from = path + strspn(path, "/"), *end = strchrnul(from, '/');
		char name[NAME_MAX + 1];
		int fd;

		if (set_path(name, sizeof(name), "%.*s", (int)(end - from), from) || !*name ||
		    !strcmp(name, ".") || !strcmp(name, "..") || depth++ == SOURCES_DEPTH_MAX)
			return -EINVAL;
		if (!end[strspn(end, "/")]) {
			fd = openat(at_fd, name,
				    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
			return fd < 0 ? -errno : fd;
		}
		fd = enter_folder(at_fd, name);
		if (fd < 0)
			return fd;
		cleanup_close_(&at_fd);
		at_fd = fd;
		path = end;
	}
}

static int put_source(int folder_fd, const struct source_kept *k)
{
	cleanup_free char *text = sources_text(k, NULL);
	cleanup_close int fd = text ? make_below(folder_fd, k->path) : -ENOMEM;
	size_t len = text ? strlen(text) : 0;

	/* A name that cannot be one here: perf shows nothing of that file. */
	if (fd < 0)
		return fd == -ENOSPC || fd == -ENOMEM || fd == -EDQUOT ? take_fd(&fd) : 0;
	errno = 0;
	return write(fd, text, len) == (ssize_t)len ? 0 : stream_cause();
}

int dso_store_put_sources(const struct dso_store *s, const __u8 *build_id,
			  const struct sources *sources)
{
	cleanup_sudo_user struct sudo_user_scope scope;
	char path[PATH_MAX];
	cleanup_close int fd = -1;
	int err = sudo_user_enter(&scope);
	__u64 bytes = 0;
	bool left_out = sources->cnt > SOURCES_FILES_MAX;

	if (err || !sources->cnt || s->fd < 0)
		return err;
	err = dso_store_sources_path(path, sizeof(path), s, build_id);
	if (err)
		return err;
	fd = enter_folder(s->fd, strrchr(path, '/') + 1);
	if (fd < 0)
		return fd;
	for (__u32 i = 0; i < sources->cnt && i < SOURCES_FILES_MAX && !err; i++) {
		const size_t size = sources_text_size(&sources->list[i]);

		if (size > SOURCES_BYTES_MAX - bytes) {
			left_out = true;
			continue;
		}
		bytes += size;
		err = put_source(fd, &sources->list[i]);
	}
	return err ? err : left_out ? -EFBIG : 0;
}

static int copy_open(int in, int out)
{
	char buf[65536];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(in, buf, sizeof(buf), at)) > 0) {
		errno = 0;
		if (write(out, buf, (size_t)n) != n)
			return stream_cause();
		at += n;
	}
	return n ? -errno : 0;
}

int dso_store_adopt(const struct dso_store *s, int from, const __u8 *build_id)
{
	cleanup_sudo_user struct sudo_user_scope scope;
	cleanup_close int fd = -1;
	int err = sudo_user_enter(&scope);

	if (err)
		return err;
	fd = begin_part(s, build_id);
	if (fd < 0)
		return fd;
	return dso_store_end_part(s, build_id, copy_open(from, fd));
}

/* base: the folder that must exist, and is not created. */
static int cache_folder(char *folder, size_t size, char *base, size_t base_size)
{
	const char *given = secure_getenv("PERF_BUILDID_DIR");
	int err;

	if (given && *given) {
		err = set_path(base, base_size, "%s", *given == '/' ? "" : ".");
		return err ? err : set_path(folder, size, "%s%s", *given == '/' ? "" : "./", given);
	}
	err = sudo_user_home(base, base_size);
	return err ? err : set_path(folder, size, "%s/.debug", base);
}

static int copy_file(int folder, const char *from, const char *to)
{
	cleanup_close int in = openat(folder, from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_close int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	return in < 0 || out < 0 ? -errno : copy_open(in, out);
}

/* DIR/NAME/ID/elf, and the link DIR/.build-id/ID[0:2]/ID[2:] that points to its folder. */
int dso_store_cache(const struct dso_store *s, const char *name, const __u8 *build_id)
{
	char file[FILE_NAME_SIZE], folder[PATH_MAX], base[PATH_MAX], object[PATH_MAX],
		target[PATH_MAX], hex[HEX_SIZE];
	cleanup_sudo_user struct sudo_user_scope scope;
	int err = sudo_user_enter(&scope);

	if (s->number)
		return ask_keeper(s, KEEPER_STORE_CACHE, build_id, NULL);
	to_hex(hex, build_id, DSO_BUILD_ID_SIZE);
	if (!err)
		err = cache_folder(folder, sizeof(folder), base, sizeof(base));
	if (!err)
		err = set_path(object, sizeof(object), "%s%s/%s", folder, name, hex);
	if (!err)
		err = sudo_user_make_folders(base, object);
	if (!err)
		err = set_path(object, sizeof(object), "%s%s/%s/elf", folder, name, hex);
	set_name(file, build_id, "");
	if (!err && linkat(s->fd, file, AT_FDCWD, object, 0))
		err = copy_file(s->fd, file, object);
	if (!err)
		err = set_path(object, sizeof(object), "%s/.build-id/%.2s", folder, hex);
	if (!err)
		err = sudo_user_make_folders(base, object);
	if (!err)
		err = set_path(object, sizeof(object), "%s/.build-id/%.2s/%s", folder, hex,
			       hex + 2);
	if (!err)
		err = set_path(target, sizeof(target), "../..%s/%s", name, hex);
	if (!err && symlink(target, object))
		err = -errno;
	return err;
}

int dso_store_cached_path(char *path, size_t size, const __u8 *build_id, size_t build_id_size)
{
	char folder[PATH_MAX], base[PATH_MAX], hex[HEX_SIZE];
	int err;

	if (build_id_size < 2 || build_id_size > DSO_BUILD_ID_SIZE)
		return -EINVAL;
	err = cache_folder(folder, sizeof(folder), base, sizeof(base));
	to_hex(hex, build_id, build_id_size);
	return err ? err : set_path(path, size, "%s/.build-id/%.2s/%s/elf", folder, hex, hex + 2);
}

int dso_store_cache_folder(char *folder, size_t size)
{
	char base[PATH_MAX];

	return cache_folder(folder, size, base, sizeof(base));
}
