/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sudo_user.h - whose rights krait opens and makes files with: the caller's. Behind sudo the caller is the
 * user who typed it, for a setuid krait the real user.
 *
 * SUDO_* counts only where the real user is root and the program gained nothing by being executed
 * (AT_SECURE): anybody can set a variable. Nothing is made as root and given away afterwards: file
 * system ids and groups are the caller's while a file is opened, so the kernel itself refuses what he
 * may not do, whatever links are on the way.
 *
 * Ids of the file system belong to a thread. The caller's identity is looked up once.
 */
#ifndef KRAIT_UTIL_SUDO_USER_H
#define KRAIT_UTIL_SUDO_USER_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "util/privileges.h"

struct sudo_user_scope {
	uid_t uid;
	gid_t gid;
	__u32 caps[2]; /* effective ones */
	struct privileges_loan loan; /* where the caller is root: of rights over files */
	bool entered;
};

/*
 * From here to sudo_user_leave() the calling thread opens and makes files as the caller, with none of
 * root's rights over files. Scopes nest. 0, or -EPERM when the ids cannot be taken on.
 */
int sudo_user_enter(struct sudo_user_scope *ret) __attribute__((warn_unused_result));
/* Keeps errno. */
void sudo_user_leave(struct sudo_user_scope *scope);
#define cleanup_sudo_user __attribute__((cleanup(sudo_user_leave)))

/*
 * For a program that goes on as root: takes on the caller's groups and remembers his ids as saved ones,
 * so that sudo_user_enter() works without CAP_SETUID and CAP_SETGID. Before threads and scopes. 0 or -errno.
 */
int sudo_user_settle(void) __attribute__((warn_unused_result));
/* In a child that becomes another program: the groups that krait was started with. 0 or -errno. */
int sudo_user_restore_groups(void) __attribute__((warn_unused_result));

/*
 * For a program that needs no right of root at all: becomes the caller for good, without capabilities
 * (root himself keeps his). 0 or -errno.
 */
int sudo_user_become(void) __attribute__((warn_unused_result));

uid_t sudo_user_uid(void);
/* The caller's home folder; it need not be there. 0, -ENOENT, -ENAMETOOLONG. */
int sudo_user_home(char *buf, size_t size) __attribute__((warn_unused_result));

/*
 * Makes the folders of path below base, mode 0700; base is not made. In a scope of the caller.
 * 0 or -errno.
 */
int sudo_user_make_folders(const char *base, const char *path) __attribute__((warn_unused_result));

#endif /* KRAIT_UTIL_SUDO_USER_H */
