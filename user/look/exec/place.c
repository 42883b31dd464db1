/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/exec/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "look/exec/inject.h"
#include "process/proc/become_user.h"
#include "process/proc/open_file.h"
#include "base/data/cleanup.h"
#include "base/worker/channel.h"
#include "base/worker/rights.h"

/* ---- place files ------------------------------------------------------------------------------- */

/*
 * The files in a script's folder: run.py, the wrapper that CPython is asked to run;
 * script, the user's; report, the FIFO. Runs in a child that has become the process's user.
 */

#define PLACE_RUN "run.py"

#define SCRIPT "script"
#define REPORT "report"

/* Hidden: through the GOT, as arm64's compilers reach others, gas 2.40 makes one address of two labels of a section. */
extern const char inject_wrapper[] __attribute__((visibility("hidden"))),
	inject_wrapper_end[] __attribute__((visibility("hidden")));
__asm__(".pushsection .rodata\ninject_wrapper:\n.incbin \"" KRAIT_SRCDIR
	"/user/look/exec/wrapper.py\"\ninject_wrapper_end:\n.byte 0\n.popsection\n");

/* Writes arbitrary bytes as a Python literal with exactly that value. */
static void put_bytes(FILE *out, const char *bytes, size_t len)
{
	fputs("b\"", out);
	for (size_t i = 0; i < len; i++)
		fprintf(out, "\\x%02x", (unsigned char)bytes[i]);
	fputc('"', out);
}

static FILE *create(int folder, const char *name)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (fd >= 0 && !out)
		close(fd);
	return out;
}

static int finish(FILE *out)
{
	int failed = ferror(out);

	return fclose(out) || failed ? -EIO : 0;
}

static int make_run(int folder, const char *path, const struct inject_request *r)
{
	FILE *out = create(folder, PLACE_RUN);
	size_t folder_len = strlen(path) - strlen("/" PLACE_RUN);

	if (!out)
		return -errno;
	fputs("KRAIT = (", out);
	put_bytes(out, path, folder_len);
	fputs(", ", out);
	put_bytes(out, r->name, strnlen(r->name, sizeof(r->name)));
	fprintf(out, ".decode(\"utf-8\", \"replace\"), %s)\n", r->capture ? "True" : "False");
	fwrite(inject_wrapper, 1, (size_t)(inject_wrapper_end - inject_wrapper), out);
	return finish(out);
}

static int copy_script(int folder, int script)
{
	FILE *out = create(folder, SCRIPT);
	char buf[65536];
	size_t total = 0;
	ssize_t n;

	if (!out)
		return -errno;
	while ((n = pread(script, buf, sizeof(buf), (off_t)total)) > 0) {
		total += (size_t)n;
		if (total > INJECT_SCRIPT_MAX || fwrite(buf, 1, (size_t)n, out) != (size_t)n)
			break;
	}
	if (n < 0) {
		n = -errno;
		fclose(out);
		return (int)n;
	}
	n = finish(out);
	return total > INJECT_SCRIPT_MAX ? -EFBIG : (int)n;
}

/* Another process with this user's rights may have replaced it meanwhile. */
static int make_report(int folder)
{
	struct stat st;
	int fd;

	if (mkfifoat(folder, REPORT, 0600))
		return -errno;
	fd = openat(folder, REPORT, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &st) && S_ISFIFO(st.st_mode))
		return fd;
	if (fd >= 0)
		close(fd);
	return -EPERM;
}

/* path: of run.py, as the process sees it. Returns 0 and the read end of the FIFO, or -errno. */
static int place_files_make(int folder, const char *path, const struct inject_request *r,
			    int script, int *ret_report)
{
	int err = copy_script(folder, script);

	if (!err)
		err = make_run(folder, path, r);
	if (err)
		return err;
	*ret_report = make_report(folder);
	return *ret_report < 0 ? *ret_report : 0;
}

/* Removes what exists of them, and the folder, whose name is in path. */
static void place_files_remove(int parent, int folder, const char *path)
{
	char name[64];
	const char *end = strrchr(path, '/'),
		   *begin = end ? memrchr(path, '/', (size_t)(end - path)) : NULL;

	unlinkat(folder, PLACE_RUN, 0);
	unlinkat(folder, SCRIPT, 0);
	unlinkat(folder, REPORT, 0);
	if (!begin || end - begin > (int)sizeof(name))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)(end - begin - 1), begin + 1);
	unlinkat(parent, name, AT_REMOVEDIR);
}

/* ---- place ------------------------------------------------------------------------------------- */

/* Time limit for everything there. */
#define PLACE_MS 3000
/* Limit on folders between a temporary folder and the root. */
#define DEPTH_MAX 64
#define ENVIRON_MAX (128U << 10)

/* Parameters for the child before it becomes the user. */
struct placing {
	struct proc_ids ids;
	uid_t root_uid; /* host id of its namespace's root */
	int root; /* of the process */
	char folder[SCRIPT_PATH_MAX]; /* its TMPDIR; "": none */
};

/* Sent by the child to its parent; parent, folder and report are valid if result is 0. */
struct placed {
	__s32 result;
	char path[SCRIPT_PATH_MAX];
	struct refusal why;
};

static void find_tmpdir(int dir, char ret[SCRIPT_PATH_MAX])
{
	cleanup_free char *text = malloc(ENVIRON_MAX);
	ssize_t len = text ? proc_read(dir, "environ", text, ENVIRON_MAX) : -1;

	*ret = '\0';
	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(text + at) + 1)
		if (!strncmp(text + at, "TMPDIR=/", 8) && strlen(text + at + 7) < SCRIPT_PATH_MAX)
			snprintf(ret, SCRIPT_PATH_MAX, "%s", text + at + 7);
}

static bool is_ruled_by(const struct placing *p, const struct stat *st)
{
	return (!st->st_uid || st->st_uid == p->root_uid || st->st_uid == p->ids.euid) &&
	       (!(st->st_mode & (S_IWGRP | S_IWOTH)) || st->st_mode & S_ISVTX);
}

/* Tells whether nobody else can replace the folder: checks the path up to the root. */
static bool is_safe(const struct placing *p, int folder)
{
	cleanup_close int at = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	struct stat root, st;

	if (at < 0 || fstat(p->root, &root))
		return false;
	for (int i = 0; i < DEPTH_MAX; i++) {
		int up;

		if (fstat(at, &st) || !is_ruled_by(p, &st))
			return false;
		if (st.st_dev == root.st_dev && st.st_ino == root.st_ino)
			return true;
		up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (up < 0)
			return false;
		close(at);
		at = up;
	}
	return false;
}

static int open_folder(const struct placing *p, const char *path)
{
	const struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, p->root, path, &how, sizeof(how));

	if (fd < 0)
		return -errno;
	if (!open_file_is_remote(fd) && is_safe(p, fd))
		return fd;
	close(fd);
	return -EPERM;
}

/* Makes a new folder there. Returns 0 or -errno. */
static int make_folder(const struct placing *p, const char *path, struct place *ret)
{
	unsigned char random[8];
	char name[32];
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	snprintf(name, sizeof(name), "krait-exec-%02x%02x%02x%02x%02x%02x%02x%02x", random[0],
		 random[1], random[2], random[3], random[4], random[5], random[6], random[7]);
	if (snprintf(ret->path, sizeof(ret->path), "%.*s/%s/" PLACE_RUN, (int)len, path, name) >=
	    (int)sizeof(ret->path))
		return -ENAMETOOLONG;
	ret->parent = open_folder(p, path);
	if (ret->parent < 0)
		return ret->parent;
	if (mkdirat(ret->parent, name, 0700))
		return -errno;
	ret->folder = openat(ret->parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return ret->folder < 0 ? -errno : 0;
}

/* Finds the first folder that allows a new one. */
static int find_folder(const struct placing *p, struct place *ret, struct refusal *why)
{
	const char *const paths[] = { *p->folder ? p->folder : "/tmp", "/tmp", "/var/tmp",
				      "/dev/shm" };
	int first = 0;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		int err = make_folder(p, paths[i], ret);

		if (!err)
			return 0;
		first = first ? first : err;
		cleanup_close_(&ret->parent);
		ret->parent = -1;
	}
	return refuse(why, -first,
		      "there is no folder where krait can put a script that it can read: "
		      "%.120s: %s",
		      paths[0], strerror(-first));
}

/* ---- the child ---------------------------------------------------------------------------------- */

static int become(const struct placing *p)
{
	int err = become_user(&p->ids);

	if (!err)
		err = rights_keep(0);
	/* Changing the user clears the death signal, so the child asks for it again. */
	if (!err && prctl(PR_SET_PDEATHSIG, SIGKILL))
		err = -errno;
	return err;
}

static int make(const struct placing *p, const struct inject_request *r, int script,
		struct place *ret, struct refusal *why)
{
	int err = become(p);

	if (err)
		return refuse(why, -err, "cannot switch to its user: %s", strerror(-err));
	umask(077);
	err = find_folder(p, ret, why);
	if (err)
		return err;
	err = place_files_make(ret->folder, ret->path, r, script, &ret->report);
	if (!err)
		return 0;
	place_files_remove(ret->parent, ret->folder, ret->path);
	return refuse(why, -err, "the script cannot be written to %.120s: %s", ret->path,
		      strerror(-err));
}

static _Noreturn void be_maker(int channel, const struct placing *p, const struct inject_request *r,
			       int script)
{
	struct place made = PLACE_NONE;
	struct placed answer = { 0 };
	int fds[3], err;

	answer.result = make(p, r, script, &made, &answer.why);
	memcpy(answer.path, made.path, sizeof(answer.path));
	fds[0] = made.parent;
	fds[1] = made.folder;
	fds[2] = made.report;
	err = channel_send(channel, &answer, sizeof(answer), fds, answer.result ? 0 : 3);
	if (err && !answer.result)
		place_files_remove(made.parent, made.folder, made.path);
	_exit(err ? 1 : 0);
}

/* Kills the child unless it ended by itself. */
static void reap(pid_t child, int timeout_ms)
{
	cleanup_close int fd = (int)syscall(SYS_pidfd_open, child, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (fd >= 0 && poll(&p, 1, timeout_ms) != 1) {
		kill(child, SIGKILL);
		poll(&p, 1, 100);
	}
	waitpid(child, NULL, WNOHANG);
}

static int take_placed(int channel, struct place *ret, struct refusal *why)
{
	struct placed answer;
	int fds[3] = { -1, -1, -1 };
	unsigned cnt = 3;
	ssize_t n = channel_recv(channel, &answer, sizeof(answer), fds, &cnt, PLACE_MS);

	if (n != sizeof(answer) || (!answer.result && cnt != 3)) {
		for (unsigned i = 0; n >= 0 && i < cnt; i++)
			close(fds[i]);
		return refuse(why, ETIMEDOUT, "its folder for temporary files does not answer");
	}
	*why = answer.why;
	if (answer.result)
		return answer.result;
	ret->parent = fds[0];
	ret->folder = fds[1];
	ret->report = fds[2];
	snprintf(ret->path, sizeof(ret->path), "%s", answer.path);
	return 0;
}

static int know(struct placing *p, int dir, struct refusal *why)
{
	if (proc_ids_at(dir, &p->ids))
		return refuse(why, ESRCH, "it has exited");
	p->root_uid = become_user_root_of(dir);
	find_tmpdir(dir, p->folder);
	p->root = openat(dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return p->root < 0 ? refuse(why, errno, "its root folder cannot be reached: %s",
				    strerror(errno)) :
			     0;
}

int place_make(struct place *p, int dir, const struct inject_request *r, int script,
	       struct refusal *why)
{
	struct placing placing;
	int channel[2], err = know(&placing, dir, why);
	pid_t child;

	*p = PLACE_NONE;
	if (err)
		return err;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel)) {
		close(placing.root);
		return refuse(why, errno, "cannot create sockets: %s", strerror(errno));
	}
	child = fork();
	if (!child) {
		close(channel[0]);
		be_maker(channel[1], &placing, r, script);
	}
	close(channel[1]);
	err = child < 0 ? refuse(why, EAGAIN, "cannot start a process") :
			  take_placed(channel[0], p, why);
	p->ids = placing.ids;
	close(channel[0]);
	close(placing.root);
	if (child > 0)
		reap(child, err ? 0 : 100);
	return err;
}

void place_remove(struct place *p)
{
	const struct placing placing = { .root = -1, .ids = p->ids };
	pid_t child = p->folder < 0 ? -1 : fork();

	if (!child) {
		if (!become(&placing))
			place_files_remove(p->parent, p->folder, p->path);
		_exit(0);
	}
	if (child > 0)
		reap(child, PLACE_MS);
	cleanup_close_(&p->parent);
	cleanup_close_(&p->folder);
	cleanup_close_(&p->report);
	*p = PLACE_NONE;
}
