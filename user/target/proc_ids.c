/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses the lines of /proc/PID/status that say whose a process is.
 */
#include "target/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/cleanup.h"

/* Enough for the whole file: a process can have 65,536 groups, of ten digits each. */
#define STATUS_MAX (1 << 20)

const char *proc_line_of(const char *text, const char *key)
{
	size_t len = strlen(key);

	while (text && strncmp(text, key, len)) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text ? text + len : NULL;
}

pid_t proc_ns_pid(const char *status)
{
	const char *p = proc_line_of(status, "NSpid:");
	pid_t pid = 0;

	while (p && *p && *p != '\n') {
		char *end;
		long value = strtol(p, &end, 10);

		if (end == p)
			break;
		pid = (pid_t)value;
		p = end + strspn(end, " \t");
	}
	return pid;
}

/* The next number of the line at *p, in decimal. */
static bool next_id(const char **p, __u32 *ret)
{
	const char *s = *p + strspn(*p, " \t");
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	*ret = (__u32)strtoul(s, &end, 10);
	*p = end;
	return true;
}

static __u64 digest_line(__u64 digest, const char *line)
{
	for (; line && *line && *line != '\n'; line++)
		digest = (digest ^ (__u8)*line) * 0x100000001b3ULL;
	return (digest ^ '\n') * 0x100000001b3ULL;
}

static __u64 digest_of(const char *text)
{
	static const char *const keys[] = { "Uid:",    "Gid:",	  "Groups:", "CapInh:",
					    "CapPrm:", "CapEff:", "CapAmb:" };
	__u64 digest = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		digest = digest_line(digest, proc_line_of(text, keys[i]));
	return digest ? digest : 1;
}

/* Parses a status file. Returns 0, or -EINVAL if it has no ids. */
static int parse_ids(const char *text, struct proc_ids *ret)
{
	const char *uids = proc_line_of(text, "Uid:"), *gids = proc_line_of(text, "Gid:"),
		   *groups = proc_line_of(text, "Groups:"), *caps = proc_line_of(text, "CapEff:");
	__u32 id, saved;

	*ret = (struct proc_ids){ 0 };
	if (!uids || !next_id(&uids, &ret->uid) || !next_id(&uids, &ret->euid) ||
	    !next_id(&uids, &saved) || !next_id(&uids, &ret->fsuid) || !gids ||
	    !next_id(&gids, &ret->gid) || !next_id(&gids, &ret->egid) || !next_id(&gids, &saved) ||
	    !next_id(&gids, &ret->fsgid))
		return -EINVAL;
	ret->caps = caps ? strtoull(caps, NULL, 16) : 0;
	while (groups && next_id(&groups, &id)) {
		if (ret->group_cnt < PROC_GROUPS_MAX)
			ret->groups[ret->group_cnt] = id;
		ret->group_cnt++;
	}
	ret->digest = digest_of(text);
	return 0;
}

int proc_ids_at(int dir, struct proc_ids *ret)
{
	char few[8192], *text = few;
	ssize_t n = proc_read(dir, "status", few, sizeof(few));
	int r;

	if (n == sizeof(few) - 1) {
		text = malloc(STATUS_MAX);
		if (!text)
			return -ENOMEM;
		n = proc_read(dir, "status", text, STATUS_MAX);
	}
	r = n < 0 ? (int)n : n == 0 ? -ESRCH : parse_ids(text, ret);
	if (text != few)
		free(text);
	return r;
}

bool proc_is_dumpable(int dir, uid_t euid)
{
	struct stat st;

	/* The kernel makes root the owner of a non-dumpable process's files. */
	return !fstatat(dir, "stat", &st, AT_SYMLINK_NOFOLLOW) && st.st_uid == euid;
}

/* Compares what the kernel has at hand: no server is asked. */
static bool is_same_file(int dir, const char *theirs, const char *ours)
{
	const int flags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
	struct statx a, b;

	return !statx(dir, theirs, flags, STATX_INO, &a) &&
	       !statx(AT_FDCWD, ours, flags, STATX_INO, &b) && a.stx_ino == b.stx_ino &&
	       a.stx_dev_major == b.stx_dev_major && a.stx_dev_minor == b.stx_dev_minor;
}

bool proc_shares_mounts(int dir)
{
	return is_same_file(dir, "ns/mnt", "/proc/self/ns/mnt");
}

bool proc_shares_users(int dir)
{
	return is_same_file(dir, "ns/user", "/proc/self/ns/user");
}

bool proc_has_our_root(int dir)
{
	return proc_shares_mounts(dir) && is_same_file(dir, "root", "/");
}

uid_t proc_owner(pid_t pid)
{
	cleanup_close int dir = proc_open(pid);
	const char *uids;
	char text[1024];
	struct stat st;

	if (dir < 0 || fstat(dir, &st))
		return 0;
	if (st.st_uid || proc_read(dir, "status", text, sizeof(text)) <= 0)
		return st.st_uid;
	uids = proc_line_of(text, "Uid:\t");
	return uids ? (uid_t)strtoul(uids, NULL, 10) : 0;
}
