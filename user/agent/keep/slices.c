/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/keep/slices.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/data/compare.h"
#include "base/files/sudo_user.h"
#include "base/data/vec.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define BLOCK 512U
#define LIBRARIES ".krait"

__u32 slices_boot(void)
{
	cleanup_fclose FILE *f = fopen(BOOT_ID, "re");
	unsigned boot = 0;

	if (!f || fscanf(f, "%8x", &boot) != 1)
		return 0;
	return boot;
}

/* ---- names ------------------------------------------------------------------------------------ */

void slice_name(struct slice *s)
{
	time_t seconds = (time_t)(s->wall_ms / 1000);
	char when[32] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(when, sizeof(when), "%Y%m%dT%H%M%S", &tm);
	snprintf(s->name, sizeof(s->name), "%s.%03dZ-%llu-%08x.data", when,
		 (int)(s->wall_ms % 1000), s->monotonic_ms, s->boot);
}

bool slice_parse(struct slice *ret, const char *name)
{
	struct slice s = { 0 };
	unsigned ms, boot;
	struct tm tm = { 0 };
	const char *rest = strptime(name, "%Y%m%dT%H%M%S", &tm);

	if (!rest || sscanf(rest, ".%3uZ-%15llu-%8x", &ms, &s.monotonic_ms, &boot) != 3)
		return false;
	s.wall_ms = (__s64)timegm(&tm) * 1000 + ms;
	s.boot = boot;
	slice_name(&s);
	/* There is exactly one name for each; other files are not the agent's. */
	if (strcmp(s.name, name) != 0 || s.wall_ms < 0)
		return false;
	*ret = s;
	return true;
}

/* ---- the folder ------------------------------------------------------------------------------- */

int slices_open_folder(const char *path, bool make)
{
	cleanup_sudo_user struct sudo_user_scope scope = { .entered = false };
	cleanup_close int fd = -1;
	int err = sudo_user_enter(&scope);
	struct stat st;

	if (err)
		return err;
	if (make && mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (st.st_uid != sudo_user_uid() || st.st_mode & 022)
		return -EPERM;
	return take_fd(&fd);
}

static __u64 blocks_of(int folder, const char *name)
{
	struct stat st;

	return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) ? 0 : (__u64)st.st_blocks * BLOCK;
}

static DIR *open_libraries(int folder, const char *name)
{
	char path[SLICE_NAME_MAX + sizeof(LIBRARIES)];
	cleanup_close int fd = -1;
	DIR *dir;

	snprintf(path, sizeof(path), "%s" LIBRARIES, name);
	fd = openat(folder, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (dir)
		take_fd(&fd);
	return dir;
}

__u64 slices_bytes_of(int folder, const char *name)
{
	__u64 bytes = blocks_of(folder, name);
	cleanup_closedir DIR *dir = open_libraries(folder, name);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		bytes += strcmp(entry->d_name, "..") ? blocks_of(dirfd(dir), entry->d_name) : 0;
	return bytes;
}

int slices_remove(int folder, const char *name)
{
	cleanup_sudo_user struct sudo_user_scope scope = { .entered = false };
	char path[SLICE_NAME_MAX + sizeof(LIBRARIES)];
	int r = sudo_user_enter(&scope);
	DIR *dir = r ? NULL : open_libraries(folder, name);
	struct dirent *entry;

	if (r)
		return r;
	/* Remove what refers to the others first. */
	if (unlinkat(folder, name, 0) && errno != ENOENT) {
		int err = -errno;

		if (dir)
			closedir(dir);
		return err;
	}
	if (!dir)
		return 0;
	while ((entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	snprintf(path, sizeof(path), "%s" LIBRARIES, name);
	return unlinkat(folder, path, AT_REMOVEDIR) ? -errno : 0;
}

static int by_time(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;

	return compare_numbers(x->wall_ms, y->wall_ms) ?: strcmp(x->name, y->name);
}

/*
 * Removes what a crash between two steps of making or removing one has left: libraries without a
 * capture.
 */
static void sweep(int folder, const char *name)
{
	size_t len = strlen(name), end = strlen(LIBRARIES);
	char base[SLICE_NAME_MAX];
	struct slice s;

	if (len <= end || len - end >= sizeof(base) || strcmp(name + len - end, LIBRARIES) != 0)
		return;
	memcpy(base, name, len - end);
	base[len - end] = '\0';
	if (slice_parse(&s, base) && faccessat(folder, base, F_OK, AT_SYMLINK_NOFOLLOW))
		(void)!slices_remove(folder, base);
}

int slices_read(struct slices *ret, int folder)
{
	cleanup_close int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_closedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct slice s;

	if (!dir)
		return -errno;
	take_fd(&fd);
	ret->cnt = 0;
	ret->bytes = 0;
	while ((entry = readdir(dir)) && ret->cnt < SLICES_MAX) {
		if (!slice_parse(&s, entry->d_name)) {
			sweep(folder, entry->d_name);
			continue;
		}
		if (vec_reserve(ret->list, ret->cap, ret->cnt + 1))
			return -ENOMEM;
		s.bytes = slices_bytes_of(folder, s.name);
		ret->bytes += s.bytes;
		ret->list[ret->cnt++] = s;
	}
	if (ret->cnt)
		qsort(ret->list, ret->cnt, sizeof(*ret->list), by_time);
	return 0;
}

void slices_free(struct slices *s)
{
	free(s->list);
	*s = (struct slices){ 0 };
}
