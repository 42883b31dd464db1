/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/dwo_opener.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/open_file.h"
#include "target/proc.h"
#include "util/cleanup.h"
#include "util/sudo_user.h"
#include "worker/channel.h"

#define OWN_FD 3
/*
 * Abandoned children that have not ended, and children that died. Beyond this many nothing is
 * opened any more.
 */
#define GIVEN_UP_MAX 16U
#define DIED_MAX 16U

/* How often to wait again for a child that gets no processor. */
#define STARVED_MAX 10U

struct dwo_opener {
	pid_t child; /* 0: none */
	int channel; /* its other end */
	pid_t given_up[GIVEN_UP_MAX];
	unsigned given_up_cnt, died_cnt;
	pid_t pid; /* dwo_opener__look_in() */
	__u64 start_ticks;
};

struct question {
	struct stat of;
	pid_t pid; /* its root; 0: ours */
	__u64 start_ticks;
	char path[PATH_MAX]; /* only the used part is sent */
};

/* ---- in the child ----------------------------------------------------------------------------- */

int dwo_opener_check(const struct stat *file, const struct stat *of)
{
	mode_t others = S_IWOTH;

	/* Anyone who may write to the program's file can decide what was inlined in it anyway. */
	if (!(of->st_mode & S_IWGRP) || file->st_gid != of->st_gid)
		others |= S_IWGRP;
	if (file->st_mode & others)
		return -EPERM;
	if (file->st_uid == of->st_uid)
		return 0;
	return !file->st_uid && file->st_mode & S_IROTH ? 0 : -EPERM;
}

/*
 * Files that the kernel makes up: in /proc/self they would describe this very process. If the file
 * system is unknown, it is not one of them.
 */
static bool is_made_up(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && (fs.f_type == PROC_SUPER_MAGIC || fs.f_type == SYSFS_MAGIC ||
				     fs.f_type == DEBUGFS_MAGIC || fs.f_type == TRACEFS_MAGIC);
}

/* Returns -ENOENT if it has our root, has ended, or may not be looked at. */
static int open_root_of(pid_t pid, __u64 start_ticks)
{
	cleanup_close int dir = proc_open_started(pid, start_ticks);
	int root;

	if (dir < 0 || proc_has_our_root(dir))
		return -ENOENT;
	root = openat(dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? -ENOENT : root;
}

static int open_root(const struct question *q)
{
	int root;

	if (q->pid)
		return open_root_of(q->pid, q->start_ticks);
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? -errno : root;
}

static int open_checked(const struct question *q)
{
	cleanup_close int root = open_root(q), path = -1;
	struct stat st;
	int err;

	if (root < 0)
		return root;
	path = open_file_below(root, q->path, &st);
	if (path < 0)
		return path;
	err = is_made_up(path) ? -ENOEXEC : dwo_opener_check(&st, &q->of);
	if (!err && !q->of.st_uid && open_file_is_remote(path))
		err = -EREMOTE;
	return err ? err : open_file_read(path);
}

/*
 * Keeps only this one of krait's descriptors; when krait's end closes, there is nobody left to
 * answer.
 */
static void become_child(int fd, pid_t parent, struct sudo_user_scope *scope)
{
	const struct sched_param ordinary = { 0 };

	if (dup2(fd, OWN_FD) < 0 || syscall(SYS_close_range, OWN_FD + 1, ~0U, 0))
		_exit(1);
	sched_setscheduler(0, SCHED_OTHER, &ordinary);
	/*
	 * Changing ids makes the kernel forget the parent-death signal (commit_creds(),
	 * kernel/cred.c).
	 */
	if (sudo_user_enter(scope) || prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
}

static _Noreturn void be_child(int fd, pid_t parent)
{
	static struct question q;
	struct sudo_user_scope scope;

	become_child(fd, parent, &scope);
	for (;;) {
		ssize_t n = channel_recv(OWN_FD, &q, sizeof(q), NULL, NULL, -1);
		int opened, answer;

		if (n <= (ssize_t)offsetof(struct question, path))
			_exit(0);
		q.path[sizeof(q.path) - 1] = '\0';
		opened = open_checked(&q);
		answer = opened < 0 ? opened : 0;
		if (channel_send(OWN_FD, &answer, sizeof(answer), &opened, opened >= 0))
			_exit(1);
		if (opened >= 0)
			close(opened);
	}
}

/* ---- in krait --------------------------------------------------------------------------------- */

struct dwo_opener *dwo_opener__new(void)
{
	return calloc(1, sizeof(struct dwo_opener));
}

static void end_child(struct dwo_opener *o)
{
	if (!o->child)
		return;
	close(o->channel);
	kill(o->child, SIGKILL);
	waitpid(o->child, NULL, 0);
	o->child = 0;
}

/* A child that waits for a file cannot be reaped now: it ends once it can. */
static void give_up_child(struct dwo_opener *o)
{
	close(o->channel);
	kill(o->child, SIGKILL);
	o->given_up[o->given_up_cnt++] = o->child;
	o->child = 0;
}

/* Abandoned children that have ended no longer count. */
static void reap(struct dwo_opener *o)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < o->given_up_cnt; i++) {
		if (!waitpid(o->given_up[i], NULL, WNOHANG))
			o->given_up[kept++] = o->given_up[i];
	}
	o->given_up_cnt = kept;
}

void dwo_opener__free(struct dwo_opener *o)
{
	if (!o)
		return;
	end_child(o);
	reap(o);
	free(o);
}

static int start_child(struct dwo_opener *o)
{
	pid_t parent = getpid();
	int ends[2];

	reap(o);
	if (o->given_up_cnt == GIVEN_UP_MAX || o->died_cnt >= DIED_MAX ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -EAGAIN;
	o->child = fork();
	if (!o->child)
		be_child(ends[1], parent);
	close(ends[1]);
	if (o->child > 0) {
		o->channel = ends[0];
		return 0;
	}
	close(ends[0]);
	o->child = 0;
	return -EAGAIN;
}

static bool is_runnable(pid_t pid)
{
	struct proc_stat st;

	return !proc_stat_read(pid, &st) && st.state == 'R';
}

static int ask(struct dwo_opener *o, const struct question *q, size_t len)
{
	int fd = -1, answer = 0;
	unsigned fd_cnt = 0, starved = 0;
	ssize_t n = channel_send(o->channel, q, len, NULL, 0);

	/* A child that waits for a processor is not blocked by a file. */
	do {
		fd_cnt = 1;
		if (!n || n == -ETIMEDOUT)
			n = channel_recv(o->channel, &answer, sizeof(answer), &fd, &fd_cnt,
					 DWO_OPEN_MS);
	} while (n == -ETIMEDOUT && starved++ < STARVED_MAX && is_runnable(o->child));
	if (n == sizeof(answer))
		return fd_cnt ? fd : answer < 0 ? answer : -EIO;
	if (n == -ETIMEDOUT) {
		give_up_child(o);
		return -ETIMEDOUT;
	}
	o->died_cnt++;
	end_child(o);
	return -EIO;
}

void dwo_opener__look_in(struct dwo_opener *o, pid_t pid, __u64 start_ticks)
{
	o->pid = pid;
	o->start_ticks = start_ticks;
}

static int open_in(struct dwo_opener *o, struct question *q, size_t len, pid_t pid)
{
	int err = o->child ? 0 : start_child(o);

	q->pid = pid;
	return err ? err : ask(o, q, offsetof(struct question, path) + len);
}

int dwo_opener__open(struct dwo_opener *o, const char *path, const struct stat *of)
{
	struct question q = { .of = *of, .start_ticks = o->start_ticks };
	size_t len = strlen(path) + 1;
	int fd = -ENOENT;

	if (len > sizeof(q.path))
		return -ENAMETOOLONG;
	memcpy(q.path, path, len);
	if (o->pid)
		fd = open_in(o, &q, len, o->pid);
	return fd == -ENOENT || fd == -ENOTDIR ? open_in(o, &q, len, 0) : fd;
}
