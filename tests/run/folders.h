/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * folders.h - a new folder for a test in place of each /tmp that it sees, here and in the roots of interpreters.
 */
#ifndef KRAIT_TESTS_RUN_FOLDERS_H
#define KRAIT_TESTS_RUN_FOLDERS_H

#include <limits.h>
#include <sys/types.h>

struct folders {
	char tmp[32][PATH_MAX]; /* each /tmp */
	unsigned cnt;
	pid_t owner;
};

/* Finds each /tmp; ours is the first. owner: the process after which the folders in them are named. */
void folders_find(struct folders *f, pid_t owner);

/* Exits if a folder cannot be made. */
void folders_make(const struct folders *f);

/* Removes the owner's, and those of earlier runs that were killed. */
void folders_remove(const struct folders *f);

/*
 * In the test's process: puts them in place by mounts that end with its last process. Without root, only TMPDIR is a new
 * folder.
 */
void folders_mount(const struct folders *f);

#endif /* KRAIT_TESTS_RUN_FOLDERS_H */
