/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/export/spool_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "base/files/sudo_user.h"

static int fail(struct error *err, int errnum, const char *dir, const char *why)
{
	return error_set(err, errnum, EXIT_CODE_OUTPUT, "cannot use %s as spool: %s", dir, why);
}

static int open_folder(const char *dir, struct error *err)
{
	cleanup_sudo_user struct sudo_user_scope scope = { .entered = false };
	cleanup_close int fd = -1;
	struct stat st;
	int r;

	r = sudo_user_enter(&scope);
	if (r)
		return fail(err, -r, dir, strerror(-r));
	if (mkdir(dir, 0700) && errno != EEXIST)
		return fail(err, errno, dir, strerror(errno));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return fail(err, errno, dir, strerror(errno));
	if (st.st_uid != sudo_user_uid())
		return fail(err, EPERM, dir, "it belongs to another user");
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return fail(err, EPERM, dir, "others can write to it (chmod go-w)");
	if (flock(fd, LOCK_EX | LOCK_NB))
		return fail(err, errno, dir, "another krait agent uses it");
	return take_fd(&fd);
}

static int open_file(int folder, const char *name, const char *dir, struct error *err)
{
	cleanup_sudo_user struct sudo_user_scope scope = { .entered = false };
	cleanup_close int fd = -1;
	int r = sudo_user_enter(&scope);
	struct stat st;

	if (r)
		return fail(err, -r, dir, strerror(-r));
	fd = openat(folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &st))
		return fail(err, errno, dir, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || st.st_uid != sudo_user_uid())
		return fail(err, EINVAL, dir,
			    "it has files in it that are not the spool's: choose an empty "
			    "folder");
	return take_fd(&fd);
}

/* A nameless file that exists while krait runs. */
static int open_memory(struct error *err)
{
	int fd = memfd_create("krait-spool", MFD_CLOEXEC);

	return fd >= 0 ? fd : fail(err, errno, "memory", strerror(errno));
}

static int open_all(struct spool_files *f, int folder, const char *dir, struct error *err)
{
	for (unsigned i = 0; i < SPOOL_SEGMENTS && folder >= 0; i++) {
		char name[32];

		snprintf(name, sizeof(name), "segment-%02u", i);
		f->disk[i] = open_file(folder, name, dir, err);
		if (f->disk[i] < 0)
			return f->disk[i];
	}
	for (unsigned i = 0; i < SPOOL_SEGMENTS; i++) {
		f->memory[i] = open_memory(err);
		if (f->memory[i] < 0)
			return f->memory[i];
	}
	f->cursors = folder >= 0 ? open_file(folder, "cursors", dir, err) : open_memory(err);
	if (folder >= 0)
		(void)fsync(folder); /* so that their names survive a power cut */
	return f->cursors < 0 ? f->cursors : 0;
}

int spool_place_open(struct spool_files *f, int *ret_lock, const char *dir, struct error *err)
{
	int folder = -1, r;

	memset(f, 0xff, sizeof(*f));
	if (dir) {
		folder = open_folder(dir, err);
		if (folder < 0)
			return folder;
	}
	r = open_all(f, folder, dir, err);
	if (r)
		spool_place_close(f, folder);
	else
		*ret_lock = folder;
	return r;
}

void spool_place_close(struct spool_files *f, int lock)
{
	for (unsigned i = 0; i < SPOOL_SEGMENTS; i++) {
		if (f->disk[i] >= 0)
			close(f->disk[i]);
		if (f->memory[i] >= 0)
			close(f->memory[i]);
	}
	if (f->cursors >= 0)
		close(f->cursors);
	if (lock >= 0)
		close(lock);
	memset(f, 0xff, sizeof(*f));
}
