/* SPDX-License-Identifier: BSD-2-Clause */
#include "folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/data/cleanup.h"

/* A folder's name is this and its owner's process ID. */
#define PREFIX "krait-contain-"
#define ROOTS_MAX (sizeof(((struct folders *)0)->tmp) / PATH_MAX)

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static void add_root(struct folders *f, const char *root)
{
	char tmp[PATH_MAX];

	snprintf(tmp, sizeof(tmp), "%s%stmp", root, root[strlen(root) - 1] == '/' ? "" : "/");
	for (unsigned i = 0; i < f->cnt; i++) {
		if (!strcmp(f->tmp[i], tmp))
			return;
	}
	if (f->cnt < ROOTS_MAX && is_folder(tmp))
		memcpy(f->tmp[f->cnt++], tmp, sizeof(tmp));
}

void folders_find(struct folders *f, pid_t owner)
{
	const char *path = getenv("KRAIT_PYTHONS");
	cleanup_fclose FILE *list = path ? fopen(path, "re") : NULL;
	char line[3 * PATH_MAX], root[PATH_MAX];

	f->owner = owner;
	add_root(f, "/");
	/* A line has a version, a kind, a root and a path. */
	while (list && fgets(line, sizeof(line), list)) {
		if (sscanf(line, "%*[^\t]\t%*[^\t]\t%4095[^\t]\t", root) == 1)
			add_root(f, root);
	}
}

static void folder_in(const struct folders *f, unsigned i, char *ret, size_t size)
{
	snprintf(ret, size, "%s/" PREFIX "%d", f->tmp[i], f->owner);
}

void folders_make(const struct folders *f)
{
	char path[2 * PATH_MAX];

	for (unsigned i = 0; i < f->cnt; i++) {
		folder_in(f, i, path, sizeof(path));
		if (mkdir(path, 0700) || chmod(path, 01777)) {
			perror(path);
			exit(1);
		}
	}
}

/* Others may write into it, so only what follows no link that appears meanwhile may remove it, such as rm. */
static void remove_folder(char *path)
{
	char *const command[] = { "rm", "-rf", "--", path, NULL };
	pid_t pid;

	/* Most tests leave theirs empty. */
	if (rmdir(path) && !posix_spawnp(&pid, command[0], NULL, NULL, command, environ))
		waitpid(pid, NULL, 0);
}

static bool is_running(const char *pid)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%s", pid);
	return is_folder(path);
}

void folders_remove(const struct folders *f)
{
	for (unsigned i = 0; i < f->cnt; i++) {
		cleanup_closedir DIR *dir = opendir(f->tmp[i]);
		struct dirent *e;

		while (dir && (e = readdir(dir))) {
			const char *pid = e->d_name + strlen(PREFIX);
			char path[2 * PATH_MAX];

			if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) ||
			    (atoi(pid) != f->owner && is_running(pid)))
				continue;
			snprintf(path, sizeof(path), "%s/%s", f->tmp[i], e->d_name);
			remove_folder(path);
		}
	}
}

/* A folder below /tmp that the test needs: its clone, or the build. */
struct kept {
	char path[PATH_MAX];
	int fd; /* -1: it lies elsewhere */
};

static void keep(struct kept *k, const char *path)
{
	k->fd = realpath(path, k->path) && !strncmp(k->path, "/tmp/", 5) ?
			open(k->path, O_PATH | O_CLOEXEC) :
			-1;
}

/* Shows it in the new /tmp, at its old path. */
static void show(const struct kept *k)
{
	char path[PATH_MAX], from[64];

	if (k->fd < 0)
		return;
	snprintf(path, sizeof(path), "%s", k->path);
	for (char *at = path + strlen("/tmp/"); (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		mkdir(path, 0755);
	}
	mkdir(path, 0755);
	snprintf(from, sizeof(from), "/proc/self/fd/%d", k->fd);
	if (mount(from, path, NULL, MS_BIND | MS_REC, NULL)) {
		perror(path);
		exit(1);
	}
	close(k->fd);
}

void folders_mount(const struct folders *f)
{
	const char *build = getenv("KRAIT_BUILD");
	char folder[2 * PATH_MAX];
	struct kept here, built;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		folder_in(f, 0, folder, sizeof(folder));
		setenv("TMPDIR", folder, 1);
		return;
	}
	/* Opened behind unshare(): what is open of another mount namespace cannot be mounted in this one. */
	keep(&here, ".");
	keep(&built, build ? build : ".");
	for (unsigned i = 0; i < f->cnt; i++) {
		folder_in(f, i, folder, sizeof(folder));
		mount(folder, f->tmp[i], NULL, MS_BIND, NULL);
	}
	show(&here);
	show(&built);
	if (here.fd >= 0 && chdir(here.path))
		exit(1);
}
