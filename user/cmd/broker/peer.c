/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/broker/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/proc/proc.h"
#include "base/data/cleanup.h"
#include "base/system/privileges.h"
#include "base/worker/rights.h"

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59 /* include/uapi/asm-generic/socket.h */
#endif
/* include/linux/proc_ns.h: PROC_USER_INIT_INO, PROC_PID_INIT_INO. */
#define USER_NAMESPACE_INIT_INO 0xEFFFFFFDU
#define PID_NAMESPACE_INIT_INO 0xEFFFFFFCU

static bool is_namespace(int dir, const char *name, ino_t ino)
{
	struct stat st;

	return !fstatat(dir, name, &st, 0) && st.st_ino == ino;
}

bool peer_namespaces_are_first(void)
{
	return is_namespace(AT_FDCWD, "/proc/self/ns/user", USER_NAMESPACE_INIT_INO) &&
	       is_namespace(AT_FDCWD, "/proc/self/ns/pid", PID_NAMESPACE_INIT_INO);
}

/* Before 4.13 the kernel does not tell: krait does not run there anyway. */
static int take_groups(struct peer *p, int fd)
{
	socklen_t len = 0;

	if (!getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len))
		return 0;
	if (errno != ERANGE)
		return -errno;
	p->groups = malloc(len);
	if (!p->groups)
		return -ENOMEM;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, p->groups, &len))
		return -errno;
	p->group_cnt = len / sizeof(*p->groups);
	return p->group_cnt <= RIGHTS_GROUPS_MAX ? 0 : -E2BIG;
}

const char *peer_take(struct peer *ret, int fd)
{
	struct ucred ids;
	socklen_t len = sizeof(ids);
	int err;

	*ret = (struct peer){ .pidfd = -1 };
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &ids, &len) || len != sizeof(ids))
		return "the kernel does not say who you are";
	ret->pid = ids.pid;
	ret->uid = ids.uid;
	ret->gid = ids.gid;
	if (ids.pid <= 0)
		return "you are in another pid namespace (a container); the service is for processes outside";
	if (!ids.uid)
		return "root needs no service: use krait without it (unset KRAIT_SOCKET)";
	/* The ids that stand for those without a mapping; all, if the kernel does not tell. */
	if (sysctl_kernel("overflowuid", ids.uid) == ids.uid ||
	    sysctl_kernel("overflowgid", ids.gid) == ids.gid)
		return "your user id has no mapping, or is nobody's";
	err = take_groups(ret, fd);
	if (err)
		return err == -E2BIG ? "you are in more than 256 groups" :
				       "the kernel does not say which groups you have";
	ret->pidfd = (int)syscall(SYS_pidfd_open, ids.pid, 0);
	return ret->pidfd < 0 ? "your process has ended" : NULL;
}

void peer_free(struct peer *p)
{
	cleanup_close_(&p->pidfd);
	p->pidfd = -1;
	free(p->groups);
	p->groups = NULL;
}

/* All four ids of a line such as "Uid: 1000 1000 1000 1000". */
static bool are_ids(const char *status, const char *key, unsigned id)
{
	const char *line = proc_line_of(status, key);
	unsigned ids[4];

	return line && sscanf(line, "%u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) == 4 &&
	       ids[0] == id && ids[1] == id && ids[2] == id && ids[3] == id;
}

/* Not if the line is missing: the groups before it may not have fitted. */
static bool is_zero(const char *status, const char *key)
{
	const char *line = proc_line_of(status, key);
	unsigned value;

	return line && sscanf(line, "%u", &value) == 1 && !value;
}

/* No AppArmor: no such file, or nothing in it. */
static bool is_confined(int dir)
{
	cleanup_close int fd = openat(dir, "attr/apparmor/current", O_RDONLY | O_CLOEXEC);
	char text[512];
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return fd >= 0 && n < 0 && errno != EINVAL;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	/* A profile may exist and allow everything: "firefox (unconfined)". */
	return strcmp(text, "unconfined") != 0 && !strstr(text, " (unconfined)");
}

const char *peer_check(const struct peer *p)
{
	cleanup_close int dir = proc_open_leader(p->pid);
	char status[32768];

	if (dir < 0 || proc_read(dir, "status", status, sizeof(status)) < 0)
		return "your process has ended";
	if (!is_namespace(dir, "ns/user", USER_NAMESPACE_INIT_INO))
		return "you are in a user namespace (a rootless container); the service is for processes outside";
	if (!is_namespace(dir, "ns/pid", PID_NAMESPACE_INIT_INO))
		return "you are in another pid namespace (a container); the service is for processes outside";
	if (!are_ids(status, "Uid:", p->uid) || !are_ids(status, "Gid:", p->gid))
		return "your process has several user or group ids (a set-uid program)";
	/* Landlock and seccomp filters of ordinary users need no_new_privs. */
	if (!is_zero(status, "NoNewPrivs:") || !is_zero(status, "Seccomp:"))
		return "your process is in a sandbox (no_new_privs, seccomp or Landlock), which the service would bypass";
	if (is_confined(dir))
		return "your process has an AppArmor profile, which the service would bypass";
	/* Until now the pid was that process's: it is not reused before the process is reaped. */
	if (syscall(SYS_pidfd_send_signal, p->pidfd, 0, NULL, 0))
		return "your process has ended";
	return NULL;
}
