/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/memory/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/system/privileges.h"
#include "base/worker/channel.h"
#include "base/worker/role.h"

#define ANSWER_MS 2000
#define TEXT_MAX 256

/* Comes with two descriptors: of /proc/PID, and where to send the answer. */
struct opener_request {
	pid_t tid; /* 0: memory; else that thread's system call */
};

struct opener_answer {
	int result; /* of the text: its length; or -errno */
	char text[TEXT_MAX];
};

/* ---- the opener ------------------------------------------------------------------------------- */

/*
 * May the user trace it? Nothing but a folder of a process or thread has a file of that name there. Returns a descriptor,
 * which is of the image that it runs now, or -errno.
 */
static int open_maps(int dir)
{
	int fd = openat(dir, "maps", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -EACCES : fd;
}

/* Of an image that has been replaced nothing can be read (m_start() in fs/proc/task_mmu.c). */
static bool still_runs(int maps, int dir)
{
	cleanup_close int now = open_maps(dir);
	char byte;

	return now >= 0 && pread(maps, &byte, 1, 0) == 1;
}

static int open_memory(int dir)
{
	cleanup_loan struct privileges_loan loan = privileges_borrow(CAP_SYS_PTRACE);
	int fd = openat(dir, "mem", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int read_syscall(int thread, char text[TEXT_MAX])
{
	cleanup_close int fd = openat(thread, "syscall", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	{
		cleanup_loan struct privileges_loan loan = privileges_borrow(CAP_SYS_PTRACE);

		n = read(fd, text, TEXT_MAX);
	}
	return n < 0 ? -errno : (int)n;
}

static void answer_memory(int dir, struct opener_answer *ret, int *ret_fd)
{
	cleanup_close int maps = open_maps(dir);

	*ret_fd = maps < 0 ? maps : open_memory(dir);
	ret->result = *ret_fd < 0 ? *ret_fd : 0;
	if (maps < 0 || still_runs(maps, dir))
		return;
	cleanup_close_(ret_fd);
	*ret_fd = -1;
	ret->result = -EACCES;
}

/* A thread may have other rights than its process. */
static void answer_syscall(int dir, pid_t tid, struct opener_answer *ret)
{
	cleanup_close int thread = -1, maps = open_maps(dir);
	char name[32];

	ret->result = maps;
	if (maps < 0)
		return;
	cleanup_close_(&maps);
	snprintf(name, sizeof(name), "task/%d", (int)tid);
	thread = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	maps = thread < 0 ? -errno : open_maps(thread);
	ret->result = maps < 0 ? maps : read_syscall(thread, ret->text);
	if (maps >= 0 && !still_runs(maps, thread))
		*ret = (struct opener_answer){ .result = -EACCES };
}

/* *ret_fd: of memory; the caller closes it. */
static void answer(const struct opener_request *r, int dir, struct opener_answer *ret, int *ret_fd)
{
	struct statfs fs;

	ret->result = -EACCES;
	if (fstatfs(dir, &fs) || fs.f_type != PROC_SUPER_MAGIC)
		return;
	if (r->tid)
		answer_syscall(dir, r->tid, ret);
	else
		answer_memory(dir, ret, ret_fd);
}

static void serve_one(const struct opener_request *r, const int fds[2])
{
	struct opener_answer a = { 0 };
	cleanup_close int mem = -1;

	answer(r, fds[0], &a, &mem);
	/* The answer waits for nobody: the socket comes from the prober. */
	if (fcntl(fds[1], F_SETFL, O_NONBLOCK) ||
	    channel_send(fds[1], &a, sizeof(a), &mem, mem >= 0))
		return;
}

int opener_serve(int fd)
{
	struct opener_request r;
	int fds[2];
	unsigned cnt = 2;
	ssize_t n;

	while ((n = channel_recv(fd, &r, sizeof(r), fds, &cnt, -1)) > 0 || n == -EPROTO ||
	       n == -EMSGSIZE) {
		if (n == sizeof(r) && cnt == 2 && r.tid >= 0)
			serve_one(&r, fds);
		for (unsigned i = 0; i < cnt; i++)
			close(fds[i]);
		cnt = 2;
	}
	return 0;
}

/* ---- in a prober ------------------------------------------------------------------------------ */

/* Probers share the opener, so each answer has a socket of its own. */
static int ask(const struct opener_request *r, int dir, struct opener_answer *ret, int *ret_fd)
{
	cleanup_close int ours = -1, theirs = -1;
	int pair[2], fds[2], type, err;
	socklen_t len = sizeof(type);

	if (getsockopt(ROLE_OPENER_FD, SOL_SOCKET, SO_TYPE, &type, &len))
		return -EACCES;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	fds[0] = dir;
	fds[1] = theirs;
	err = channel_send(ROLE_OPENER_FD, r, sizeof(*r), fds, 2);
	/* If the opener ends, so does the wait. */
	close(take_fd(&theirs));
	if (!err)
		err = channel_take(ours, ret, sizeof(*ret), ret_fd, ANSWER_MS);
	return err ? -EACCES : ret->result;
}

int opener_memory(int dir)
{
	const struct opener_request r = { 0 };
	struct opener_answer a;
	int fd = -1, err = ask(&r, dir, &a, &fd);

	if (!err && fd >= 0)
		return fd;
	cleanup_close_(&fd);
	errno = err < 0 ? -err : EACCES;
	return -1;
}

ssize_t opener_syscall(int dir, pid_t tid, char *buf, size_t size)
{
	const struct opener_request r = { .tid = tid };
	struct opener_answer a;
	int n = ask(&r, dir, &a, NULL);

	if (n > (int)sizeof(a.text) || n >= (int)size)
		return -EPROTO;
	if (n > 0)
		memcpy(buf, a.text, (size_t)n);
	if (n >= 0)
		buf[n] = '\0';
	return n;
}
