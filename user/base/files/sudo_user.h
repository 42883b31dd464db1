/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sudo_user.h - opens and makes files with the caller's rights. Under sudo the caller is the user
 * who typed it; for a setuid krait, the real user.
 *
 * SUDO_* counts only if the real user is root and exec gave the program no privileges (AT_SECURE):
 * anybody can set a variable. We never make a file as root and give it away: while a file is
 * opened, file system ids and groups are the caller's, so the kernel itself refuses what he may not
 * do, whatever links are on the way.
 *
 * File system ids belong to a thread. The caller's identity is looked up once.
 */
#ifndef KRAIT_BASE_FILES_SUDO_USER_H
#define KRAIT_BASE_FILES_SUDO_USER_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/system/privileges.h"

struct sudo_user_scope {
	uid_t uid;
	gid_t gid;
	__u32 caps[2]; /* the effective ones */
	struct privileges_loan loan; /* if the caller is root: rights over files */
	bool entered;
};

/*
 * Until sudo_user_leave() the calling thread opens and makes files as the caller, without root's
 * rights over files. Scopes nest. Returns 0, or -EPERM if the ids cannot be changed.
 */
int sudo_user_enter(struct sudo_user_scope *ret) __attribute__((warn_unused_result));
/* Keeps errno. */
void sudo_user_leave(struct sudo_user_scope *scope);
#define cleanup_sudo_user __attribute__((cleanup(sudo_user_leave)))

/* Opens a file for reading as the caller, O_CLOEXEC. Returns a descriptor or -errno. */
int sudo_user_open(const char *path, int flags) __attribute__((warn_unused_result, nonnull));
/* strerror(), and whose rights were missing if that is not obvious. */
const char *sudo_user_why(int errnum);

/*
 * For a program that stays root: takes on the caller's groups and stores his ids as saved ids, so
 * that sudo_user_enter() works without CAP_SETUID and CAP_SETGID. Call before threads and scopes.
 * Returns 0 or -errno.
 */
int sudo_user_settle(void) __attribute__((warn_unused_result));
/* In a child that will exec another program: restores krait's original groups. Returns 0 or -errno. */
int sudo_user_restore_groups(void) __attribute__((warn_unused_result));

/*
 * For a program that needs none of root's rights: becomes the caller for good, without capabilities
 * (if the caller is root, he keeps his). Returns 0 or -errno.
 */
int sudo_user_become(void) __attribute__((warn_unused_result));

uid_t sudo_user_uid(void);
/* Stores the caller's group, and at most max of his groups. Returns their number. */
unsigned sudo_user_ids(gid_t *ret_gid, gid_t *groups, unsigned max) __attribute__((nonnull));
/* Stores the caller's home folder, which may not exist. Returns 0, -ENOENT or -ENAMETOOLONG. */
int sudo_user_home(char *buf, size_t size) __attribute__((warn_unused_result));

/*
 * Makes the folders of path below base, mode 0700, but not base. Call in a scope of the caller.
 * Returns 0 or -errno.
 */
int sudo_user_make_folders(const char *base, const char *path) __attribute__((warn_unused_result));

#endif /* KRAIT_BASE_FILES_SUDO_USER_H */
