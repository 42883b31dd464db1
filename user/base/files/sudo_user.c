/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/files/sudo_user.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux's limit for a long time; further groups' rights are not used. */
#define MAX_GROUPS 64

/* Capabilities over files regardless of ids: those that setfsuid() also takes from root. */
#define FILE_CAPS                                                                                  \
	(1U << CAP_CHOWN | 1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH | 1U << CAP_FOWNER | \
	 1U << CAP_FSETID | 1U << CAP_LINUX_IMMUTABLE | 1U << CAP_MKNOD)

/* Set once: does not change after the process's start. */
struct caller {
	uid_t uid;
	gid_t gid;
	bool sudo; /* then it has groups of its own */
	/* from what the process was started as, or the process has rights that the caller has not */
	bool differs;
	bool settled; /* the process has its groups already */
	gid_t groups[MAX_GROUPS], old_groups[MAX_GROUPS];
	int group_cnt, old_group_cnt;
};

static struct caller caller;
static pthread_once_t caller_once = PTHREAD_ONCE_INIT;

/* Parses an id; -1 is invalid because system calls take it as "no change". */
static bool parse_id(const char *text, __u32 *ret)
{
	unsigned long value;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	*ret = (__u32)value;
	return !*end && !errno && value < UINT_MAX;
}

static void take_groups(struct caller *c)
{
	const struct passwd *pw = getpwuid(c->uid);

	c->group_cnt = MAX_GROUPS;
	if (pw && getgrouplist(pw->pw_name, c->gid, c->groups, &c->group_cnt) >= 0)
		return;
	if (!pw)
		c->group_cnt = 0;
	/* Takes the groups that fit; there is normally room for all. */
	if (c->group_cnt > MAX_GROUPS)
		c->group_cnt = MAX_GROUPS;
	if (!c->group_cnt)
		c->groups[c->group_cnt++] = c->gid;
}

static void find_caller(void)
{
	const char *uid = secure_getenv("SUDO_UID"), *gid = secure_getenv("SUDO_GID");
	struct caller *c = &caller;
	__u32 ids[2];

	c->uid = getuid();
	c->gid = getgid();
	c->old_group_cnt = getgroups(MAX_GROUPS, c->old_groups);
	if (!c->uid && parse_id(uid, &ids[0]) && parse_id(gid, &ids[1]) && ids[0]) {
		c->uid = ids[0];
		c->gid = ids[1];
		c->sudo = true;
		take_groups(c);
	}
	c->differs = c->sudo || getauxval(AT_SECURE);
}

static const struct caller *find(void)
{
	pthread_once(&caller_once, find_caller);
	return &caller;
}

uid_t sudo_user_uid(void)
{
	return find()->uid;
}

unsigned sudo_user_ids(gid_t *ret_gid, gid_t *groups, unsigned max)
{
	const struct caller *c = find();
	const gid_t *from = c->sudo ? c->groups : c->old_groups;
	const int all = c->sudo ? c->group_cnt : c->old_group_cnt;
	unsigned cnt = 0;

	*ret_gid = c->gid;
	for (; (int)cnt < all && cnt < max; cnt++)
		groups[cnt] = from[cnt];
	return cnt;
}

/* ---- capabilities ----------------------------------------------------------------------------- */

static int get_caps(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &header, data) ? -errno : 0;
}

static int set_caps(const struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

/* ---- for a while ------------------------------------------------------------------------------ */

/* The C library's setgroups() changes all threads; file system ids belong to the thread anyway. */
static int set_groups(const gid_t *groups, int cnt)
{
	return cnt < 0 || syscall(SYS_setgroups, (size_t)cnt, groups) ? -errno : 0;
}

int sudo_user_enter(struct sudo_user_scope *ret)
{
	struct __user_cap_data_struct caps[2] = { 0 };
	const struct caller *c = find();

	*ret = (struct sudo_user_scope){ 0 };
	if (!c->differs) {
		ret->loan = privileges_borrow(CAP_DAC_OVERRIDE);
		return 0;
	}
	if (get_caps(caps))
		return -EPERM;
	*ret = (struct sudo_user_scope){
		.uid = (uid_t)setfsuid((uid_t)-1),
		.gid = (gid_t)setfsgid((gid_t)-1),
		.caps = { caps[0].effective, caps[1].effective },
		.entered = true,
	};
	setfsgid(c->gid);
	setfsuid(c->uid);
	if ((uid_t)setfsuid((uid_t)-1) != c->uid || (gid_t)setfsgid((gid_t)-1) != c->gid ||
	    get_caps(caps)) {
		sudo_user_leave(ret);
		return -EPERM;
	}
	caps[0].effective &= ~FILE_CAPS;
	if (set_caps(caps)) {
		sudo_user_leave(ret);
		return -EPERM;
	}
	return 0;
}

void sudo_user_leave(struct sudo_user_scope *scope)
{
	struct __user_cap_data_struct caps[2] = { 0 };
	int saved = errno;

	privileges_give_back(&scope->loan);
	if (!scope->entered)
		return;
	scope->entered = false;
	setfsuid(scope->uid);
	setfsgid(scope->gid);
	/* Capabilities that were given up meanwhile stay dropped. */
	if (!get_caps(caps)) {
		caps[0].effective = scope->caps[0] & caps[0].permitted;
		caps[1].effective = scope->caps[1] & caps[1].permitted;
		set_caps(caps);
	}
	errno = saved;
}

int sudo_user_settle(void)
{
	const struct caller *c = find();

	if (!c->sudo)
		return 0;
	if (setgroups((size_t)c->group_cnt, c->groups) || setresgid((gid_t)-1, (gid_t)-1, c->gid) ||
	    setresuid((uid_t)-1, (uid_t)-1, c->uid))
		return -errno;
	caller.settled = true;
	return 0;
}

int sudo_user_restore_groups(void)
{
	const struct caller *c = find();

	return c->sudo ? set_groups(c->old_groups, c->old_group_cnt) : 0;
}

/* ---- for good --------------------------------------------------------------------------------- */

int sudo_user_become(void)
{
	static const struct __user_cap_data_struct none[2];
	const struct caller *c = find();

	if (!c->differs)
		return 0;
	if (c->sudo && !c->settled && setgroups((size_t)c->group_cnt, c->groups))
		return -errno;
	if (setresgid(c->gid, c->gid, c->gid) || setresuid(c->uid, c->uid, c->uid))
		return -errno;
	caller.settled = true;
	return c->uid ? set_caps(none) : 0;
}

/* ---- folders ---------------------------------------------------------------------------------- */

int sudo_user_home(char *buf, size_t size)
{
	const struct caller *c = find();
	const char *home = c->differs ? NULL : getenv("HOME");
	const struct passwd *pw = home && *home == '/' ? NULL : getpwuid(c->uid);
	int n;

	if (pw)
		home = pw->pw_dir;
	if (!home || *home != '/')
		return -ENOENT;
	n = snprintf(buf, size, "%s", home);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int sudo_user_make_folders(const char *base, const char *path)
{
	size_t len = strlen(path), start = strlen(base);
	char part[PATH_MAX];

	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	if (strncmp(path, base, start) || (path[start] && path[start] != '/'))
		return -EINVAL;
	for (size_t i = start + 1; i <= len; i++) {
		if (path[i] != '/' && path[i])
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, 0700) && errno != EEXIST)
			return -errno;
	}
	return 0;
}

int sudo_user_open(const char *path, int flags)
{
	cleanup_sudo_user struct sudo_user_scope scope = { .entered = false };
	int err = sudo_user_enter(&scope), fd = err ? -1 : open(path, flags | O_CLOEXEC);

	return err ? err : fd < 0 ? -errno : fd;
}

const char *sudo_user_why(int errnum)
{
	return errnum == EACCES && sudo_user_uid() != geteuid() ?
		       "the user behind sudo may not read it, nor may krait for that user" :
		       strerror(errnum);
}
