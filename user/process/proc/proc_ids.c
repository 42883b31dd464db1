/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses the lines of /proc/PID/status that say whose a process is.
 */
#include "process/proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "base/data/cleanup.h"

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

__u32 proc_groups(const struct proc_ids *ids)
{
	_Static_assert(PROC_GROUPS_MAX >= TASK_GROUPS_MAX - 1, "all that are compared are kept");
	return ids->group_cnt < TASK_GROUPS_MAX ? task_groups(ids->groups, ids->group_cnt) :
						  TASK_GROUPS_MANY;
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
	const int flags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT | AT_EMPTY_PATH;
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

bool proc_reads_all(int dir, const struct proc_ids *ids)
{
	const __u64 either = 1ULL << CAP_DAC_OVERRIDE | 1ULL << CAP_DAC_READ_SEARCH;

	return ids->caps & either && proc_shares_users(dir);
}

bool proc_has_our_root(int dir)
{
	return proc_shares_mounts(dir) && is_same_file(dir, "root", "/");
}

/* The kernel allows no more (kernel/user_namespace.c). */
#define USER_NS_LEVELS 33

/* The user namespace of that process, or around it, that is right below ours; or -errno. */
static int open_outermost(int dir)
{
	cleanup_close int fd = openat(dir, "ns/user", O_RDONLY | O_CLOEXEC);

	for (int i = 0; fd >= 0 && i < USER_NS_LEVELS; i++) {
		int parent = ioctl(fd, NS_GET_PARENT);

		if (parent < 0)
			return -errno;
		if (is_same_file(parent, "", "/proc/self/ns/user")) {
			close(parent);
			return take_fd(&fd);
		}
		close(fd);
		fd = parent;
	}
	return -ENOENT;
}

/* The first uid of the host that is mapped into its user namespace; 0: none. */
static uid_t first_mapped(int dir)
{
	char text[256];
	unsigned inside, outside = 0;

	if (proc_read(dir, "uid_map", text, sizeof(text)) <= 0 ||
	    sscanf(text, "%u %u", &inside, &outside) != 2)
		return 0;
	return outside;
}

uid_t proc_payer_at(int dir, uid_t uid)
{
	cleanup_close int fd = -1;
	uid_t owner;

	if (proc_shares_users(dir))
		return uid;
	fd = open_outermost(dir);
	if (fd < 0 || ioctl(fd, NS_GET_OWNER_UID, &owner))
		return uid;
	owner = owner ? owner : first_mapped(dir);
	return owner ? owner : uid;
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
		return proc_payer_at(dir, st.st_uid);
	uids = proc_line_of(text, "Uid:\t");
	return uids ? proc_payer_at(dir, (uid_t)strtoul(uids, NULL, 10)) : 0;
}
